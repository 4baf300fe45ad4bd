// The role and the user that boxes need, and nothing more. On a server of your own:
//   SYNERGY_PASSWORD=... mongosh -u admin mongodb://HOST/synergy mongodb-user.js
const actions = [
  "find", "insert", "update", "remove",
  "createCollection", "createIndex", "listCollections", "listIndexes",
  "collStats", "dbStats",
];
db.createRole({
  role: "synergyBox",
  privileges: [{ resource: { db: db.getName(), collection: "" }, actions }],
  roles: [],
});
db.createUser({ user: "synergy", pwd: process.env.SYNERGY_PASSWORD, roles: ["synergyBox"] });
