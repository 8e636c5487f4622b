package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code holdfast serve --upstream} in front of an official server over HTTP+SSE, each a process, with a proxy on each leg. */
@Timeout(240)
class UpstreamSseCommandTest {
    private static final int ROUNDS = 3;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    @AutoClose
    private final OpenResources open = new OpenResources();

    @SuppressWarnings("NullAway.Init")
    private JavaProcess upstream;

    @SuppressWarnings("NullAway.Init")
    private CuttingProxy upstreamLeg;

    @SuppressWarnings("NullAway.Init")
    private CuttingProxy clientLeg;

    @SuppressWarnings("NullAway.Init")
    private RawSession session;

    private JavaProcess official() throws IOException {
        return open.add(JavaProcess.start(OfficialSseMain.class.getName()));
    }

    @BeforeEach
    void start() throws IOException {
        upstream = official();
        upstreamLeg = open.add(CuttingProxy.to(upstream.port()));
        String url = "http://127.0.0.1:" + upstreamLeg.port() + "/sse";
        String store = "rocksdb:" + folder.resolve("store");
        JavaProcess gateway = open.add(JavaProcess.start(
                "dev.holdfast.gateway.Main", "serve", "--port", "0", "--store", store, "--upstream", url));
        clientLeg = open.add(CuttingProxy.to(gateway.port()));
        session = RawSession.open(clientLeg.port(), RawSseSession.REVISION);
    }

    /** Calls what takes a minute. */
    private RawConnection called(int id) {
        return open.add(session.stream(session.post(Json.callWithProgress("" + id, "lasting"))));
    }

    /** The last message of this stream is the definite end of a call. */
    private static void assertEnds(RawConnection stream) {
        List<Frame> frames = stream.messages();
        assertThat(frames).isNotEmpty();
        assertThat(frames.get(frames.size() - 1).json().at("/error/message").asString())
                .contains(UpstreamFront.FATE_UNKNOWN);
    }

    @ParameterizedTest
    @EnumSource(names = {"RST", "FIN"})
    void cutsOnBothLegsAtOnceTakeNeitherTheSessionNorTheEndOfTheCall(CuttingProxy.Cut cut) {
        for (int round = 1; round <= ROUNDS; round++) {
            RawConnection call = called(round);
            Optional<String> seen = call.message().id();

            upstreamLeg.cut(cut);
            clientLeg.cut(cut);

            assertEnds(open.add(session.stream(session.get(seen.orElseThrow()))));
            // the POST of the call and the stream of the session break one after the other
            session.assertAliveBehind(UpstreamFront.FATE_UNKNOWN);
        }
        assertThat(upstreamLeg.cuts()).isGreaterThanOrEqualTo(ROUNDS);
        assertThat(clientLeg.cuts()).isGreaterThanOrEqualTo(ROUNDS);
    }

    @Test
    void theSessionOutlivesAnUpstreamThatIsKilledAndStartedAgain() throws Exception {
        for (int round = 1; round <= ROUNDS; round++) {
            RawConnection call = called(round);
            assertThat(call.message().id()).isPresent();

            upstreamLeg.refuse();
            upstream.close();
            RawConnection meanwhile =
                    open.add(session.stream(session.post(Json.echo("\"meanwhile\"", "to the next one"))));
            upstream = official();
            upstreamLeg.leadTo(upstream.port());
            upstreamLeg.accept();

            assertEnds(call);
            // it may have been sent on a connection that was about to break
            assertThat(meanwhile.message().data()).containsAnyOf("to the next one", UpstreamFront.FATE_UNKNOWN);
            session.assertAlive();
        }
    }
}
