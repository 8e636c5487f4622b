package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.SessionLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** python-sdk 2200: a POST to a session whose client had left was answered 202, and its result went nowhere. */
@Tag("timing")
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
class PythonSdk2200Test {
    /** With two containers and two ways to leave, 100 in all. */
    private static final int CLIENTS = 25;

    private static final Duration A_MOMENT = Duration.ofMillis(300);
    /** After it nothing that was seen before counts any more. */
    private static final Duration A_LONGER_MOMENT = Duration.ofMillis(600);

    /** What a look takes at least. */
    private static final Duration LOOK = Duration.ofMillis(100);

    private static final int RECEIVE_BUFFER = 4 << 10;
    /** More than the kernel takes for a peer that does not read, and less than the server keeps. */
    private static final int FLOOD = 80;

    private static final String LARGE = "x".repeat(100 << 10);
    private static final long PLENTY = 64L << 20;

    private final ContainerKind kind;

    @AutoClose
    private final Witness witness = new Witness();

    private TestServer server;

    PythonSdk2200Test(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind)
                .options(options -> options.sseEndpoint("/sse")
                        .historyLimits(new SessionLimits(PLENTY, 10_000, PLENTY, 10_000, 256, 64)))
                .filter(witness.completions())
                .start();
        RawSseSession.open(server.port()).assertAlive();
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
        witness.assertNoComplaint();
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk2200_theFirstPostAfterTheDropIsNotFound(Breakage breakage) throws Exception {
        Parallel.times(CLIENTS, i -> {
            RawSseSession session = RawSseSession.open(server.port());
            breakage.happenTo(session.stream());

            Parallel.pass(A_MOMENT);

            session.assertGone();
            session.assertGone();
        });
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk2200_aNotificationAfterTheDropIsNotFoundEither(Breakage breakage) {
        RawSseSession session = RawSseSession.open(server.port());
        breakage.happenTo(session.stream());

        Parallel.pass(A_MOMENT);

        assertThat(session.status(session.post(Json.notification("notifications/roots/list_changed", "{}"))))
                .isEqualTo(404);
    }

    @ParameterizedTest
    @EnumSource
    void pythonSdk2200_aClientThatLeavesInTheMiddleOfABusyConversationIsFoundOut(Breakage breakage) {
        RawSseSession session = RawSseSession.open(server.port());
        for (int i = 0; i < 50; i++) {
            session.assertAlive();
        }
        breakage.happenTo(session.stream());

        Parallel.pass(A_MOMENT);

        session.assertGone();
    }

    @Test
    void aClientThatIsSilentButThereIsServedAfterALook() {
        try (RawSseSession session = RawSseSession.open(server.port())) {
            List<Duration> looks = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Parallel.pass(A_LONGER_MOMENT);
                long before = System.nanoTime();
                session.send(Json.echo(Integer.toString(i), "hello"));
                looks.add(Duration.ofNanos(System.nanoTime() - before));
                assertThat(session.receive().at("/id").asInt()).isEqualTo(i);
            }
            // two writes more than a round trip apart; a machine that is busy may make a few of them longer
            assertThat(looks).allSatisfy(look -> assertThat(look).isGreaterThanOrEqualTo(LOOK));
            assertThat(median(looks)).isLessThan(Duration.ofSeconds(2));
        }
    }

    @Test
    void manyPostsOfASilentClientShareOneLook() throws Exception {
        try (RawSseSession session = RawSseSession.open(server.port())) {
            Parallel.pass(A_LONGER_MOMENT);
            List<Duration> posts = new CopyOnWriteArrayList<>();

            Parallel.times(CLIENTS, i -> {
                long before = System.nanoTime();
                session.send(Json.echo(Integer.toString(i), "hello"));
                posts.add(Duration.ofNanos(System.nanoTime() - before));
            });

            // one after the other they would take three seconds
            assertThat(median(posts)).isLessThan(Duration.ofMillis(2500));
            List<Integer> answered = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                answered.add(session.receive().at("/id").asInt());
            }
            assertThat(answered).doesNotHaveDuplicates();
        }
    }

    @Test
    void aBusyConversationPaysNoLook() {
        try (RawSseSession session = RawSseSession.open(server.port())) {
            List<Duration> posts = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                Parallel.pass(Duration.ofMillis(5));
                long before = System.nanoTime();
                session.send(Json.echo(Integer.toString(i), "hello"));
                posts.add(Duration.ofNanos(System.nanoTime() - before));
                assertThat(session.receive().at("/id").asInt()).isEqualTo(i);
            }
            // a machine that stands still lets some need a look
            assertThat(posts).filteredOn(post -> post.compareTo(LOOK) < 0).hasSizeGreaterThan(posts.size() / 4);
        }
    }

    @Test
    void aClientThatStoppedReadingCountsAsAlive() {
        RawConnection connection = RawConnection.open(server.port(), RECEIVE_BUFFER);
        try (RawSseSession session = RawSseSession.connect(server.port(), connection, RawSseSession.get())) {
            session.initialize();
            for (int i = 0; i < FLOOD; i++) {
                server.log("flood " + i + LARGE);
            }
            Parallel.pass(A_LONGER_MOMENT);

            long before = System.nanoTime();
            session.send(Json.echo("\"stuck\"", "hello"));

            assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(10));
            for (int i = 0; i < FLOOD; i++) {
                assertThat(session.receive().at("/params/data").asString()).isEqualTo("flood " + i + LARGE);
            }
            assertThat(session.receive().at("/id").asString()).isEqualTo("stuck");
        }
    }

    private static Duration median(List<Duration> durations) {
        return durations.stream().sorted().toList().get(durations.size() / 2);
    }
}
