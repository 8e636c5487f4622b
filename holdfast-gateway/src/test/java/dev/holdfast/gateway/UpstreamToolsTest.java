package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** What an upstream is asked of its tools by the gateway itself. */
@Timeout(60)
class UpstreamToolsTest {
    private static final Logger LOGGER = (Logger) LoggerFactory.getLogger("dev.holdfast.upstream.UpstreamSettings");

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final ScriptedUpstream upstream = new ScriptedUpstream();
    private final TestGateway gateway = TestGateway.before(upstream.url());
    private final AtomicInteger sessions = new AtomicInteger();
    /** The number of the session at the upstream that still lives. */
    private final AtomicInteger living = new AtomicInteger(1);

    @BeforeEach
    void begin() {
        log.start();
        LOGGER.addAppender(log);
        upstream.on("initialize", asked -> {
            asked.exchange().getResponseHeaders().set("Mcp-Session-Id", "session-" + sessions.incrementAndGet());
            asked.json("{'jsonrpc':'2.0','id':" + asked.id()
                    + ",'result':{'protocolVersion':'2025-11-25','capabilities':{'tools':{}}}}");
        });
        upstream.on("who", this::who);
    }

    @AfterEach
    void close() {
        LOGGER.detachAppender(log);
        gateway.close();
        upstream.close();
    }

    private void who(ScriptedUpstream.Asked asked) throws IOException {
        if (asked.header("Mcp-Session-Id").equals("session-" + living)) {
            asked.result("done");
        } else {
            asked.status(404);
        }
    }

    @Test
    void aListThatIsRefusedIsNoSettingThatIsMissing() {
        upstream.on("tools/list", asked -> asked.status(403));
        HttpPeer peer = HttpPeer.connected(gateway.url());
        assertThat(peer.call(1, "who")).contains("done");
        assertThat(upstream.asked("tools/list")).isEmpty();

        living.incrementAndGet();
        assertThat(peer.call(2, "who")).contains("done");
        Wait.until("it is asked", () -> upstream.asked("tools/list").size() == 1);
        living.incrementAndGet();
        assertThat(peer.call(3, "who")).contains("done");
        Wait.until("it is asked again", () -> upstream.asked("tools/list").size() == 2);

        assertThat(log.list).isEmpty();
    }
}
