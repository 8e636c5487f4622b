package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Filters that put a stream of their own before the response, which hands everything on: those of Spring Security do so with every
 * response.
 */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Tag("edge")
@Timeout(30)
class ForwardingResponseTest {
    private final ContainerKind kind;
    private final WriteThroughFilter filter = new WriteThroughFilter(WriteThroughFilter.Listening.HANDED_ON);
    private TestServer server;
    private RawSession session;

    ForwardingResponseTest(ContainerKind kind) {
        this.kind = kind;
    }

    @BeforeEach
    void start() throws Exception {
        server = TestServer.in(kind).filter(filter).start();
        session = RawSession.open(server.port());
    }

    @AfterEach
    void close() throws Exception {
        server.close();
    }

    @Test
    void aStreamIsWrittenWithoutBlocking() throws Exception {
        try (RawConnection stream = session.stream(session.get())) {
            await().until(() -> server.holdfast().engine().stats().connections() == 1);
            for (String text : new String[] {"one", "two", "x".repeat(300 << 10)}) {
                server.log(text);
                assertThat(stream.message().json().at("/params/data").asString())
                        .isEqualTo(text);
            }
            await().until(() -> filter.listeners() == 1);
        }
    }
}
