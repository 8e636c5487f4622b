package dev.holdfast.it;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients that guess the charset of a text where none is named: Python's {@code requests} takes Latin-1, where 0x85 ends a line. */
@ParameterizedClass
@EnumSource(ContainerKind.class)
@Timeout(30)
@Tag("edge")
class CharsetTest {
    private static final SharedServer server = new SharedServer();

    CharsetTest(ContainerKind kind) {}

    @BeforeParameterizedClassInvocation
    static void start(ContainerKind kind) throws Exception {
        server.start(TestServer.in(kind).options(options -> options.sseEndpoint("/sse")));
    }

    @AfterParameterizedClassInvocation
    static void stop() throws Exception {
        server.stop();
    }

    private static void assertType(RawRequest request, String type) {
        try (RawConnection connection = RawConnection.open(server.port()).send(request)) {
            assertThat(connection.head().header("Content-Type")).hasValue(type + ";charset=utf-8");
        }
    }

    @Test
    void hermesAgent107439_everyTextSaysItsCharset() {
        RawSession session = RawSession.open(server.port());

        assertType(RawRequest.post(Json.initialize(RawSession.NEWEST)), "application/json");
        assertType(session.post(Json.echo("1", "hello")), "text/event-stream");
        assertType(session.get(), "text/event-stream");
        assertType(RawSseSession.get(), "text/event-stream");
        assertType(session.post("{"), "application/json");
        assertType(session.post(Json.echo("2", "hello")).with("Origin", "http://foreign.example"), "application/json");
        assertType(RawRequest.of("PUT"), "application/json");
    }

    @Test
    void hermesAgent107439_theByte85ArrivesWithinItsEvent() {
        RawSession session = RawSession.open(server.port());
        try (RawConnection call = session.stream(session.post(Json.echo("1", "\u0105\u2026")))) {
            assertThat(call.message().json().at("/result/content/0/text").asString())
                    .isEqualTo("\u0105\u2026");
        }
    }
}
