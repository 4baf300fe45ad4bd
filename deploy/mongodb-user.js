// Creates a role and a user with exactly the rights that boxes need. On your own server:
//   SYNERGY_PASSWORD=... mongosh -u admin mongodb://HOST/synergy mongodb-user.js
const actions = [
  "find", "insert", "update", "remove", // all boxes
  "listCollections", "listIndexes", // every start
  "createIndex", // `store init`, and the first use of a queue or collection
  "dropIndex", // `store init`
  "dbStats", // `store status`
];
db.createRole({
  role: "synergyBox",
  privileges: [{ resource: { db: db.getName(), collection: "" }, actions }],
  roles: [],
});
db.createUser({ user: "synergy", pwd: process.env.SYNERGY_PASSWORD, roles: ["synergyBox"] });
