package dev.holdfast.rocksdb;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.EventId;
import dev.holdfast.Lifetime;
import dev.holdfast.Session;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.MessageFactory.Introduction;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What {@code engine-1.zip} holds: the store of an engine that was killed while these sessions were in use, and a file with what
 * their clients know. Whatever is named here was true of the engine that wrote it, and stays.
 *
 * <pre>
 *   SESSION        clients wait for the answers to four calls, and one listens
 *   RETURNED       opened by a process before, whose machine ended; its client has never listened
 *   UNTOUCHED      opened by that process too, and not used since
 *   SSE            over HTTP+SSE
 *   UNINITIALIZED  over HTTP+SSE, before its initialize
 * </pre>
 */
final class EngineFixture {
    static final String SESSION = "session-of-the-fixture";
    static final String RETURNED = "returned-session-of-the-fixture";
    static final String UNTOUCHED = "untouched-session-of-the-fixture";
    static final String SSE = "sse";
    static final String UNINITIALIZED = "uninitialized";
    static final String SOMEBODY = "somebody";

    static final String LISTENING = "listening";
    static final String COMPLETED = "completed";
    static final String HARMLESS = "harmless";
    static final String BATCH = "batch";
    static final String OF_THE_FIRST_LIFE = "of-the-first-life";
    static final String OF_THE_SECOND_LIFE = "of-the-second-life";
    static final String SSE_LISTENING = "sse-listening";

    static final Instant BEGIN = Instant.parse("2026-01-01T00:00:00Z");
    static final Duration GRACE = Duration.ofMinutes(11).plusMillis(101);
    static final Duration IDLE = Duration.ofMinutes(13).plusMillis(103);
    static final Duration RETENTION = Duration.ofSeconds(17).plusMillis(107);
    static final Duration INITIALIZATION = Duration.ofSeconds(19).plusMillis(109);
    static final Duration CALL = Duration.ofMinutes(23).plusMillis(113);
    static final Lifetime LIFETIME = new Lifetime(GRACE, IDLE, RETENTION, INITIALIZATION, CALL);
    /** When the store may forget it. */
    static final Instant EXPIRY = BEGIN.plus(IDLE).plus(Duration.ofHours(1));

    static final Introduction SERVER = new Introduction(0x0102030405060708L, (byte) 5);
    static final String MACHINE = "the second machine";
    private static final String FIRST_MACHINE = "the first machine";
    private static final String STORE = "store";
    private static final String CLIENTS = "clients";

    private final Path folder;
    private final Map<String, String> known;

    private EngineFixture(Path folder, Map<String, String> known) {
        this.folder = folder;
        this.known = known;
    }

    static EngineFixture unzip(Path folder) throws IOException {
        Archive.unzip("/engine-1.zip", folder);
        Map<String, String> known = Files.readAllLines(folder.resolve(CLIENTS), UTF_8).stream()
                .map(line -> line.split(" ", 2))
                .collect(Collectors.toMap(parts -> parts[0], parts -> parts[1]));
        return new EngineFixture(folder, known);
    }

    /** The next process. */
    EngineBed open(String machine, Instant start, Introduction server) {
        return new EngineBed(folder.resolve(STORE), machine, start, server);
    }

    /** The id of a session that the engine has named. */
    String id(String session) {
        return Objects.requireNonNull(known.get(session));
    }

    /** Where a client goes on. */
    EventId cursor(String stream) {
        return EventId.parse(Objects.requireNonNull(known.get(stream))).orElseThrow();
    }

    static InboundMessage initialize() {
        return Words.request(0, "initialize");
    }

    static void write(Path zip) throws Exception {
        Path home = Files.createTempDirectory("fixture");
        Path whole = Files.createDirectory(home.resolve("whole"));
        Map<String, String> known = new TreeMap<>();
        EngineBed first = new EngineBed(home.resolve("first"), FIRST_MACHINE, BEGIN, SERVER);
        first.backend.propose(RETURNED);
        first.opened("", initialize());
        ask(first, 1, OF_THE_FIRST_LIFE, known).send(Words.question("general"));
        first.backend.propose(UNTOUCHED);
        Session untouched = first.opened("", initialize());
        known.put(UNTOUCHED, Line.resumed(untouched.listen()).cursor().toString());
        // what the first life has left becomes a table, what the second one writes stays in the log
        try (EngineBed second = first.die(home.resolve("second"), MACHINE)) {
            secondLife(second, known);
            second.copyTo(whole.resolve(STORE));
        }
        List<String> lines = known.entrySet().stream()
                .map(entry -> entry.getKey() + " " + entry.getValue())
                .toList();
        Files.write(whole.resolve(CLIENTS), lines, UTF_8);
        Archive.zip(whole, zip);
        FolderBed.remove(home);
    }

    /** A call that asks its client something, who hears the question and does not answer. */
    private static HoldingBackend.Life ask(EngineBed process, int id, String name, Map<String, String> known)
            throws Exception {
        Line line = EngineBed.call(process.found(RETURNED, ""), Words.request(id, HoldingBackend.HARMFUL));
        HoldingBackend.Life backend = process.backend.next();
        backend.nextCall().send(Words.question(name));
        line.read();
        known.put(name, line.cursor().toString());
        return backend;
    }

    private static void secondLife(EngineBed process, Map<String, String> known) throws Exception {
        ask(process, 2, OF_THE_SECOND_LIFE, known);

        process.backend.propose(SESSION);
        Session session = process.opened("", initialize());
        HoldingBackend.Life backend = process.backend.next();
        setUp(session);
        Line listening = listen(process, session, backend);
        calls(session, backend, known);

        Session sse = process.awaiting(SOMEBODY);
        Line everything = Line.resumed(sse.listen());
        EngineBed.post(sse, initialize()).dispatch();
        HoldingBackend.Life sseBackend = process.backend.next();
        Sample.await(sse.notify(Words.notification("notifications/initialized", put("initialized"))));
        EngineBed.post(sse, Words.request(1, HoldingBackend.HARMFUL)).dispatch();
        EngineBed.post(sse, Words.request(2, HoldingBackend.HARMFUL)).dispatch();
        EngineBed.post(sse, Words.request(3, HoldingBackend.HARMLESS)).dispatch();
        everything.read();
        known.put(SSE, sse.id());
        known.put(SSE_LISTENING, everything.cursor().toString());
        known.put(UNINITIALIZED, process.awaiting("").id());

        // the records learn who listens, and what is confirmed
        process.pass(Duration.ofSeconds(6));
        sseBackend.nextCall().respond();
        backend.send(Words.notice("four"));
        backend.send(Words.question("roots"));
        known.put(LISTENING, listening.cursor().toString());
    }

    private static JournalChange put(String key) {
        return new JournalChange.Put(key);
    }

    /** The journal: one entry takes the place of an earlier one, one is gone. */
    private static void setUp(Session session) throws Exception {
        Sample.await(session.notify(Words.notification("notifications/initialized", put("initialized"))));
        EngineBed.call(session, Words.request(1, "logging/setLevel", put("level")));
        EngineBed.call(session, Words.request(2, "resources/subscribe", put("subscription")));
        EngineBed.call(session, Words.request(7, "logging/setLevel", put("level")));
        EngineBed.call(session, Words.request(8, "resources/subscribe", put("another")));
        EngineBed.call(session, Words.request(9, "resources/unsubscribe", new JournalChange.Remove("another")));
    }

    /** The client has surely read two messages of three, and has the third. */
    private static Line listen(EngineBed process, Session session, HoldingBackend.Life backend) throws Exception {
        Line listening = Line.resumed(session.listen());
        backend.send(Words.notice("one"));
        backend.send(Words.notice("two"));
        listening.read();
        listening.wrote(process.nanos());
        process.pass(Duration.ofMillis(100));
        backend.send(Words.notice("three"));
        listening.read();
        listening.wrote(process.nanos());
        return listening;
    }

    private static void calls(Session session, HoldingBackend.Life backend, Map<String, String> known)
            throws Exception {
        Line completed = EngineBed.call(session, Words.request(3, HoldingBackend.HARMFUL));
        known.put(COMPLETED, completed.cursor().toString());
        backend.nextCall().respond();

        Line harmless = EngineBed.call(session, Words.request(4, HoldingBackend.HARMLESS));
        HoldingBackend.Held running = backend.nextCall();
        running.send(Words.progress(1));
        running.send(Words.progress(2));
        harmless.read();
        known.put(HARMLESS, harmless.cursor().toString());

        Line batch = EngineBed.call(
                session, Words.request(5, HoldingBackend.HARMFUL), Words.request(6, HoldingBackend.HARMFUL));
        known.put(BATCH, batch.cursor().toString());
        backend.nextCall();
        backend.nextCall().respond();
    }
}
