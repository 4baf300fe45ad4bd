// Creates a role and a user with exactly the rights that boxes need. On your own server:
//   SYNERGY_PASSWORD=... mongosh -u admin mongodb://HOST/synergy mongodb-user.js
const actions = [
  "find", "insert", "update", "remove", // all boxes
  "listCollections", "listIndexes", "createIndex", "dropIndex", // `store init`, and every start
  "dbStats", // `store status`
];
db.createRole({
  role: "synergyBox",
  privileges: [{ resource: { db: db.getName(), collection: "" }, actions }],
  roles: [],
});
db.createUser({ user: "synergy", pwd: process.env.SYNERGY_PASSWORD, roles: ["synergyBox"] });
