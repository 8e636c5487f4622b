package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** java-sdk 920: a client that lost its listening GET lost its session with it. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class JavaSdk920Test {
    private static final String GREETING = "hello";

    private final ContainerKind kind;

    @AutoClose
    private final Witness witness = new Witness();

    private final LifecycleRecorder lifecycle = new LifecycleRecorder();
    private TestServer server;
    private RawSession session;
    private Frame lastFrame = new Frame(List.of());

    JavaSdk920Test(ContainerKind kind) {
        this.kind = kind;
    }

    /** The server under test. */
    TestServer.Builder server() {
        return TestServer.in(kind)
                .options(options ->
                        options.heartbeatInterval(Duration.ofMillis(100)).sessionLifecycleListener(lifecycle));
    }

    @BeforeEach
    void start() throws Exception {
        server = server().filter(witness.completions()).start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        witness.assertNoComplaint();
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_aBrokenGetKeepsTheSession(Breakage breakage) {
        breakage.happenTo(listen());
        server.log("one");
        server.log("two");
        awaitNoticed();

        session.assertAlive();
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_aBrokenGetKeepsTheSessionThroughSilence(Breakage breakage) {
        breakage.happenTo(listen());
        awaitNoticed();

        session.assertAlive();
        try (RawConnection again = listen()) {
            server.log("one");
            assertThat(textsUpTo("one", again)).containsExactly("one");
        }
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_whatWasSentMeanwhileComesExactlyOnceAfterLastEventId(Breakage breakage) {
        RawConnection broken = listen();
        Frame last = broken.message();
        breakage.happenTo(broken);
        server.log("one");
        server.log("two");
        session.assertAlive();
        server.log("three");

        try (RawConnection again = session.stream(session.get(last.id().orElseThrow()))) {
            assertThat(again.frame().orElseThrow().id()).isEqualTo(last.id());
            server.log("four");
            assertThat(textsUpTo("four", again)).containsExactly("one", "two", "three", "four");
        }
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_whatWasSentMeanwhileComesAtLeastOnceWithoutLastEventId(Breakage breakage) {
        breakage.happenTo(listen());
        server.log("one");
        server.log("two");
        session.assertAlive();
        server.log("three");

        try (RawConnection again = listen()) {
            server.log("four");
            assertThat(textsUpTo("four", again)).containsSubsequence("one", "two", "three", "four");
        }
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_whatIsSentToOneClientIsKeptToo(Breakage breakage) {
        breakage.happenTo(listen());
        server.log(session, "one");
        session.assertAlive();
        server.log(session, "two");

        try (RawConnection again = listen()) {
            assertThat(textsUpTo("two", again)).containsSubsequence("one", "two");
        }
        witness.assertQuiet(1);
    }

    @ParameterizedTest
    @EnumSource
    void javaSdk920_theSessionOutlivesManyBrokenGets(Breakage breakage) {
        int times = 10;
        List<String> sent = new ArrayList<>();
        List<String> got = new ArrayList<>();
        RawConnection connection = listen();
        Frame last = connection.message();
        for (int i = 0; i < times; i++) {
            server.log("seen " + i);
            sent.add("seen " + i);
            got.addAll(textsUpTo("seen " + i, connection));
            last = lastFrame;
            breakage.happenTo(connection);
            server.log("missed " + i);
            sent.add("missed " + i);
            connection = session.stream(session.get(last.id().orElseThrow()));
        }
        server.log("end");
        got.addAll(textsUpTo("end", connection));
        sent.add("end");
        connection.close();

        assertThat(got).isEqualTo(sent);
        witness.assertQuiet(times);
    }

    private void awaitNoticed() {
        await().untilAsserted(() -> assertThat(lifecycle.detached()).containsExactly(session.id()));
        await().until(() -> server.holdfast().openConnections() == 0);
    }

    /** A GET of which something has come: a server may keep back the head until it has something to say. */
    private RawConnection listen() {
        RawConnection connection = session.send(session.get());
        await().until(() -> {
            server.log(GREETING);
            return connection.readable();
        });
        assertThat(connection.head().status()).isEqualTo(200);
        return connection;
    }

    /** The messages up to one, without greetings. */
    private List<String> textsUpTo(String end, RawConnection connection) {
        List<String> texts = new ArrayList<>();
        while (!texts.contains(end)) {
            lastFrame = connection.message();
            String text = lastFrame.json().at("/params/data").asString();
            if (!text.equals(GREETING)) {
                texts.add(text);
            }
        }
        return texts;
    }
}
