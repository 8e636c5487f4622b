package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.SessionLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The newest connection wins at once, whatever the older one does or does not do. */
@Tag("timing")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(60)
class SupersedeTest {
    /** A container waits longer than this for a peer that does not read. */
    private static final Duration AT_ONCE = Duration.ofSeconds(10);

    private static final int RECEIVE_BUFFER = 4 << 10;
    /** More than the kernel takes for a peer that does not read, and less than the server keeps. */
    private static final int FLOOD = 80;

    private static final String LARGE = "x".repeat(100 << 10);
    private static final long PLENTY = 64L << 20;

    private final ContainerKind kind;
    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private final List<String> flood = new ArrayList<>();
    private TestServer server;
    private RawSession session;

    SupersedeTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options -> options.sessionLifecycleListener(lifecycle)
                        .historyLimits(new SessionLimits(PLENTY, 10_000, PLENTY, 10_000, 256, 64)))
                .writeTimeout(Duration.ofSeconds(20))
                .start();
        session = RawSession.open(server.port());
        warmUp();
    }

    /** The first of its kind has classes to load. */
    private void warmUp() {
        RawSession other = RawSession.open(server.port());
        try (RawConnection first = other.stream(other.get())) {
            String position = first.frame().orElseThrow().id().orElseThrow();
            other.stream(other.get(position)).close();
        }
        assertThat(other.status(other.delete())).isEqualTo(200);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    /** A connection that listens and has read one message. */
    private RawConnection listen() {
        RawConnection connection =
                RawConnection.open(server.port(), RECEIVE_BUFFER).send(session.get());
        assertThat(connection.head().status()).isEqualTo(200);
        return connection;
    }

    private Frame first(RawConnection connection) {
        server.log("first");
        return connection.message();
    }

    /** Sends more than fits between the server and a client that does not read. */
    private void flood() {
        for (int i = 0; i < FLOOD; i++) {
            String text = "flood " + i;
            flood.add(text);
            server.log(text + " " + LARGE);
        }
    }

    /** Takes the listening stream over, and checks how long that takes. */
    private RawConnection takeOver(boolean withCursor, Frame last) {
        RawRequest request = withCursor ? session.get(last.id().orElseThrow()) : session.get();
        long before = System.nanoTime();
        RawConnection connection = session.stream(request);
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(AT_ONCE);
        return connection;
    }

    @ParameterizedTest
    @CsvSource({"true, RST", "true, FIN", "false, RST", "false, FIN"})
    void aPeerThatStoppedReadingIsOvertakenAtOnce(boolean withCursor, Breakage lateClose) {
        RawConnection first = listen();
        Frame last = first(first);
        flood();
        List<String> sent = new ArrayList<>();
        if (!withCursor) {
            sent.add("first");
        }
        sent.addAll(flood);
        List<String> got = new ArrayList<>();
        try (SteadySender sender = new SteadySender(server);
                RawConnection second = takeOver(withCursor, last)) {
            await().atMost(AT_ONCE).until(() -> server.holdfast().openConnections() == 1);

            lateClose.happenTo(first);

            got.addAll(textsUpTo("steady 20", second));
            sent.addAll(sender.stop());
            got.addAll(textsUpTo(sent.get(sent.size() - 1), second));
        }
        if (withCursor) {
            assertThat(got).isEqualTo(sent);
        } else {
            // what the first peer swallowed may be missing, but never the rest
            assertThat(got).isEqualTo(sent.subList(sent.size() - got.size(), sent.size()));
            assertThat(got).contains("flood " + (FLOOD - 1));
        }
        assertThat(lifecycle.detached()).doesNotContain(session.id());
    }

    @ParameterizedTest
    @CsvSource({"true, RST", "true, FIN", "false, RST", "false, FIN"})
    void aPeerThatReadsIsOvertakenAtOnce(boolean withCursor, Breakage lateClose) {
        RawConnection first = listen();
        Frame last = first(first);
        try (RawConnection second = takeOver(withCursor, last)) {
            server.log("news");

            assertThat(first.messages()).isEmpty();
            assertThat(first.end()).isNotEqualTo(RawConnection.End.NONE);
            lateClose.happenTo(first);
            server.log("more");
            assertThat(textsUpTo("more", second)).endsWith("news", "more").doesNotHaveDuplicates();
        }
        assertThat(lifecycle.detached()).doesNotContain(session.id());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aPeerThatStoppedReadingMeetsTheEndWhenItReadsAgain(boolean withCursor) {
        RawConnection first = listen();
        Frame last = first(first);
        flood();
        try (RawConnection second = takeOver(withCursor, last)) {
            server.log("news");
            textsUpTo("news", second);

            assertThat(texts(first.messages())).hasSizeLessThan(FLOOD).doesNotContain("news");
            assertThat(first.end()).isNotEqualTo(RawConnection.End.NONE);
        }
    }

    private static List<String> textsUpTo(String end, RawConnection connection) {
        List<String> texts = new ArrayList<>();
        while (texts.isEmpty() || !texts.get(texts.size() - 1).equals(end)) {
            texts.add(text(connection.message()));
        }
        return texts;
    }

    private static List<String> texts(List<Frame> messages) {
        return messages.stream().map(SupersedeTest::text).toList();
    }

    /** The text of a message, without the bulk of a large one. */
    private static String text(Frame frame) {
        String text = frame.json().at("/params/data").asString();
        return text.endsWith(LARGE) ? text.substring(0, text.length() - LARGE.length() - 1) : text;
    }
}
