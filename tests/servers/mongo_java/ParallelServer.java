// A MongoDB-compatible server for tests that carries out the commands of its clients in parallel.
//
// It is mongo-java-server with its backend in memory, and with what Synergy needs and it lacks.
// `-listen host:port` names its address. It prints its URL, and ends with its standard input.

import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.Cursor;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.DatabaseResolver;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.QueryParameters;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.backend.memory.MemoryCollection;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.oplog.Oplog;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

public class ParallelServer {

    private static final int THREADS = 8; // so many commands run at the same time

    public static void main(String[] words) throws Exception {
        String[] place = (words.length > 1 ? words[1] : "127.0.0.1:0").split(":");
        MongoServer server = new MongoServer(new Backend());
        server.bind(new InetSocketAddress(place[0], Integer.parseInt(place[1])), 1, THREADS);
        System.out.println("mongodb://" + place[0] + ":" + server.getLocalAddress().getPort() + "/");
        while (System.in.read() >= 0) { }
        System.exit(0);
    }

    /** Says in `hello` that it is MongoDB 4.4, the oldest that the driver talks to. */
    private static class Backend extends MemoryBackend {

        Backend() {
            version(new MongoVersion() {
                @Override
                public List<Integer> getVersionArray() {
                    return List.of(4, 4, 0);
                }

                @Override
                public int getWireVersion() {
                    return 9;
                }
            });
        }

        @Override
        public MemoryDatabase openOrCreateDatabase(String name) {
            return new Database(name, getCursorRegistry());
        }

        @Override
        public Document handleCommand(Channel channel, String database, String command, Document query) {
            String known = command.equals("hello") ? "ismaster" : command;
            return super.handleCommand(channel, database, known, query);
        }
    }

    /** Counts the inserted documents of a command some of whose documents were refused. */
    private static class Database extends MemoryDatabase {

        Database(String name, CursorRegistry cursors) {
            super(name, cursors);
        }

        @Override
        protected MemoryCollection openOrCreateCollection(String name, CollectionOptions options) {
            return new Collection(this, name, options, cursorRegistry);
        }

        @Override
        public Document handleCommand(
                Channel channel, String command, Document query, DatabaseResolver resolver, Oplog oplog) {
            Document answer = super.handleCommand(channel, command, query, resolver, oplog);
            if (command.equals("insert") && answer.get("writeErrors") instanceof List<?> errors) {
                int asked = ((List<?>) query.get("documents")).size();
                Object first = ((Document) errors.get(0)).get("index");
                answer.put("n", Utils.isTrue(query.get("ordered")) ? first : asked - errors.size());
            }
            return answer;
        }
    }

    /**
     * Reads each document as a whole, and many documents one by one, as MongoDB does.
     *
     * The server sends the documents themselves, which other commands change meanwhile.
     */
    private static class Collection extends MemoryCollection {

        Collection(
                MemoryDatabase database, String name, CollectionOptions options, CursorRegistry cursors) {
            super(database, name, options, cursors);
        }

        @Override
        public QueryResult handleQuery(QueryParameters wanted) {
            boolean isWrite = Thread.holdsLock(this); // it changes what it finds
            QueryResult found = super.handleQuery(wanted);
            if (isWrite || (wanted.getProjection() != null && !wanted.getProjection().isEmpty())) {
                return found; // a projection consists of copies
            }
            Document selector = wanted.getQuerySelector();
            Document filter = (Document) selector.getOrDefault("$query", selector);
            return new QueryResult(copied(found, filter), found.getCursorId());
        }

        @Override
        public synchronized Document findAndModify(Document query) {
            Document answer = super.findAndModify(query);
            if (answer.get("value") instanceof Document document) {
                answer.put("value", document.clone());
            }
            return answer;
        }

        @Override
        public synchronized int count(Document query, int skip, int limit) {
            return super.count(query, skip, limit);
        }

        @Override
        public synchronized void addIndex(Index<Integer> index) {
            super.addIndex(index);
        }

        @Override
        public synchronized void dropIndex(String name) {
            super.dropIndex(name);
        }

        @Override
        protected Cursor createCursor(List<Document> remaining) {
            return super.createCursor(copied(remaining, new Document()));
        }

        /** Values within documents never change: an update replaces them. */
        private List<Document> copied(Iterable<Document> documents, Document filter) {
            List<Document> copies = new ArrayList<>();
            for (Document document : documents) {
                synchronized (this) {
                    if (documentMatchesQuery(document, filter)) {
                        copies.add(document.clone());
                    }
                }
            }
            return copies;
        }
    }
}
