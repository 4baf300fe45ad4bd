// The role and the user that boxes need, and nothing more. On a server of your own:
//   SYNERGY_PASSWORD=... mongosh -u admin mongodb://HOST/synergy mongodb-user.js
const actions = [
  "find", "insert", "update", "remove", // what boxes do
  "listCollections", "listIndexes", "createIndex", "dropIndex", // `store init`, and every start
  "dbStats", // `store status`
];
db.createRole({
  role: "synergyBox",
  privileges: [{ resource: { db: db.getName(), collection: "" }, actions }],
  roles: [],
});
db.createUser({ user: "synergy", pwd: process.env.SYNERGY_PASSWORD, roles: ["synergyBox"] });
