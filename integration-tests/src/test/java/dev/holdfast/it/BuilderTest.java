package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.HoldfastTransportProviderBuilder;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Another class name and another import are the whole migration: the official builder, knob by knob and default by default. */
@Timeout(60)
class BuilderTest {
    private TestServer holdfast;
    private TestServer official;

    @BeforeEach
    void start() throws Exception {
        holdfast = TestServer.in(ContainerKind.JETTY).start();
        official = TestServer.in(ContainerKind.JETTY)
                .transport(
                        HttpServletStreamableServerTransportProvider.builder().build())
                .start();
    }

    @AfterEach
    void stop() throws Exception {
        holdfast.close();
        official.close();
    }

    static Stream<Method> officialKnobs() {
        return Arrays.stream(HttpServletStreamableServerTransportProvider.Builder.class.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .filter(method -> !method.getName().equals("build"));
    }

    @ParameterizedTest
    @MethodSource("officialKnobs")
    void everyOfficialKnobIsThere(Method knob) throws Exception {
        Method ours = Arrays.stream(HoldfastTransportProviderBuilder.class.getMethods())
                .filter(method -> method.getName().equals(knob.getName()))
                .findFirst()
                .orElseThrow();

        assertThat(ours.getReturnType()).isEqualTo(HoldfastTransportProviderBuilder.class);
        assertThat(Stream.of(ours.getGenericParameterTypes()).map(BuilderTest::bound))
                .containsExactly(knob.getGenericParameterTypes());
        assertThat(ours.isAnnotationPresent(Deprecated.class)).isEqualTo(knob.isAnnotationPresent(Deprecated.class));
    }

    private static Type bound(Type type) {
        return type instanceof TypeVariable<?> variable ? variable.getBounds()[variable.getBounds().length - 1] : type;
    }

    @Test
    void theBuilderIsGotAndUsedUpInTheOfficialWay() throws Exception {
        assertThat(HoldfastTransportProvider.class.getMethod("builder").getReturnType())
                .isEqualTo(HoldfastTransportProviderBuilder.class);
        assertThat(HoldfastTransportProviderBuilder.class.getMethod("build").getReturnType())
                .isEqualTo(HoldfastTransportProvider.class);
    }

    @Test
    void bothOfferTheSameRevisions() {
        assertThat(holdfast.holdfast().protocolVersions())
                .containsExactlyInAnyOrderElementsOf(HttpServletStreamableServerTransportProvider.builder()
                        .build()
                        .protocolVersions());
    }

    @ParameterizedTest
    @CsvSource({"/mcp, 200", "/other, 404", "/deeper/mcp, 200", "/mcp/deeper, 404"})
    void bothServeTheSameEndpoint(String path, int status) {
        assertThat(initializeAt(path, holdfast)).isEqualTo(status);
        assertThat(initializeAt(path, official)).isEqualTo(status);
    }

    @Test
    void bothLetClientsEndTheirSessions() {
        for (TestServer server : new TestServer[] {holdfast, official}) {
            RawSession session = RawSession.open(server.port());

            assertThat(session.status(session.delete())).isEqualTo(200);

            session.assertGone();
        }
    }

    @Test
    void bothTakeRequestsOfFourMebibytesAndOursNoMore() {
        int most = 4 << 20;

        for (TestServer server : new TestServer[] {holdfast, official}) {
            RawSession session = RawSession.open(server.port());
            assertThat(session.status(session.post(echoOf(most)))).isEqualTo(200);
        }
        RawSession session = RawSession.open(holdfast.port());
        RawRequest announced = session.post(echoOf(100)).with("Content-Length", Integer.toString(most + 1));
        assertThat(session.status(announced)).isEqualTo(413);
    }

    private static int initializeAt(String path, TestServer server) {
        RawRequest request = RawRequest.post(Json.initialize(RawSession.NEWEST));
        String head = new String(request.head(server.port()), US_ASCII).replace(" /mcp ", " " + path + " ");
        try (RawConnection connection = RawConnection.open(server.port())) {
            return connection
                    .write(head.getBytes(US_ASCII))
                    .write(request.body())
                    .head()
                    .status();
        }
    }

    /** A call that is padded with white space to a number of bytes. */
    private static byte[] echoOf(int size) {
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) ' ');
        byte[] call = Json.echo("1", "hello").getBytes(US_ASCII);
        System.arraycopy(call, 0, body, 0, call.length);
        return body;
    }
}
