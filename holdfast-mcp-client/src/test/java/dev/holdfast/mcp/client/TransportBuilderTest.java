package dev.holdfast.mcp.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.client.ClientLimits;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpClientTransport;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TransportBuilderTest {
    /** The public methods of a class, by name and parameters; each returns the class itself, or what it builds. */
    private static List<String> methods(Class<?> builder, Class<?> built) {
        return Arrays.stream(builder.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isBridge())
                .map(method -> signature(method, builder, built))
                .toList();
    }

    private static String signature(Method method, Class<?> builder, Class<?> built) {
        Class<?> result = method.getReturnType();
        String returned = result == builder ? "builder" : result == built ? "transport" : result.getName();
        // two that differ in what their parameter is erased to cannot have one name where it is Object
        String name = method.getName().replace("httpAuthorization", "authorization");
        return returned + " " + name
                + Stream.of(method.getGenericParameterTypes())
                        .map(TransportBuilderTest::bound)
                        .toList();
    }

    private static Type bound(Type type) {
        return type instanceof TypeVariable<?> variable ? variable.getBounds()[variable.getBounds().length - 1] : type;
    }

    @Test
    void hasEveryMethodOfTheOfficialBuilder() {
        assertThat(methods(HoldfastClientTransport.Builder.class, HoldfastClientTransport.class))
                .containsAll(methods(
                        HttpClientStreamableHttpTransport.Builder.class, HttpClientStreamableHttpTransport.class));
    }

    /** What a field of a builder holds that nobody has changed. */
    private static Object initial(Object builder, String field) throws ReflectiveOperationException {
        Field named = builder.getClass().getDeclaredField(field);
        named.setAccessible(true);
        return named.get(builder);
    }

    @Test
    void hasTheDefaultsOfTheOfficialBuilder() throws ReflectiveOperationException {
        Object official = HttpClientStreamableHttpTransport.builder("http://localhost");
        Object own = HoldfastClientTransport.builder("http://localhost");

        for (String field : List.of("baseUri", "endpoint", "openConnectionOnStartup", "connectTimeout")) {
            assertThat(initial(own, field)).as(field).isEqualTo(initial(official, field));
        }
        ClientLimits limits = (ClientLimits) initial(own, "limits");
        assertThat(limits.resumable()).isEqualTo(initial(official, "resumableStreams"));
        assertThat(limits.messageBytes()).isEqualTo(initial(official, "maxResponseSize"));
    }

    @Test
    void offersTheRevisionsOfTheOfficialOneAndThatOfHttpSse() {
        McpClientTransport official =
                HttpClientStreamableHttpTransport.builder("http://localhost").build();

        List<String> offered =
                HoldfastClientTransport.builder("http://localhost").build().protocolVersions();

        assertThat(offered).containsAll(official.protocolVersions()).startsWith("2024-11-05");
        assertThat(offered.get(offered.size() - 1))
                .isEqualTo(official.protocolVersions()
                        .get(official.protocolVersions().size() - 1));
    }

    @Test
    void refusesWhatIsOutOfRange() {
        HoldfastClientTransport.Builder builder = HoldfastClientTransport.builder("http://localhost");

        assertThatThrownBy(() -> builder.maxInFlight(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxResponseSize(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.patience(Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.maxSilence(Duration.ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.endpoint("")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> builder.supportedProtocolVersions(List.of()))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "127.0.0.1:9", "localhost:9", "/mcp", "ftp://localhost", "http://", "http://a b"})
    void aServerThatIsNoneIsRefused(String baseUri) {
        assertThatThrownBy(() -> HoldfastClientTransport.builder(baseUri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("baseUri must");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://elsewhere.example/mcp", "/a b"})
    void anEndpointThatIsNotAtTheServerIsRefused(String endpoint) {
        HoldfastClientTransport.Builder builder = HoldfastClientTransport.builder("http://localhost");

        assertThatThrownBy(() -> builder.endpoint(endpoint)).isInstanceOf(IllegalArgumentException.class);
    }
}
