package dev.holdfast.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.mcp.HoldfastTransportProvider;
import dev.holdfast.mcp.client.HoldfastClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An SDK that says to be of some version. */
class SdkVersionTest {
    private static final String PROPERTIES = "META-INF/maven/io.modelcontextprotocol.sdk/mcp-core/pom.properties";

    @TempDir
    Path folder;

    private Path real;
    private Path core;

    @BeforeEach
    void copyTheSdk() throws Exception {
        real = Path.of(McpSchema.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        core = Files.copy(real, folder.resolve("mcp-core.jar"));
    }

    /** Builds a transport beside an SDK that says to be of this version. */
    private void build(Class<?> transport, String version, Object... arguments) throws Exception {
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + core.toUri()), Map.of())) {
            Files.writeString(jar.getPath(PROPERTIES), "version=" + version + "\n", UTF_8);
        }
        buildWith(transport, arguments);
    }

    private void buildWith(Class<?> transport, Object... arguments) throws Exception {
        List<URL> path = new ArrayList<>();
        for (String element : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (element.contains("holdfast-gateway")) {
                continue; // its jar names the real SDK in its manifest
            }
            path.add((Path.of(element).equals(real) ? core : Path.of(element))
                    .toUri()
                    .toURL());
        }
        try (URLClassLoader loader =
                new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Thread thread = Thread.currentThread();
            ClassLoader before = thread.getContextClassLoader();
            thread.setContextClassLoader(loader);
            try {
                Class<?> type = loader.loadClass(transport.getName());
                Class<?>[] parameters = arguments.length == 0 ? new Class<?>[0] : new Class<?>[] {String.class};
                Object builder = type.getMethod("builder", parameters).invoke(null, arguments);
                Method build = builder.getClass().getMethod("build");
                build.invoke(builder);
            } finally {
                thread.setContextClassLoader(before);
            }
        }
    }

    private void buildAll(String version) throws Exception {
        build(HoldfastTransportProvider.class, version);
        build(HoldfastClientTransport.class, version, "http://127.0.0.1:1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.8.1", "0.17.2", "3.0.0", "10.1.0"})
    void oneThatIsNotSupportedIsRefusedWhenTheTransportIsBuilt(String version) {
        assertRefused("mcp-core " + version, () -> build(HoldfastTransportProvider.class, version));
        assertRefused("mcp-core " + version, () -> build(HoldfastClientTransport.class, version, "http://127.0.0.1:1"));
    }

    /** As 0.17.2 lacks it: the version is looked at before anything else of the SDK is loaded. */
    @Test
    void oneThatLacksAClassIsRefusedByItsVersion() throws Exception {
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + core.toUri()), Map.of())) {
            Files.delete(
                    jar.getPath("io/modelcontextprotocol/server/transport/ServerTransportSecurityException.class"));
        }
        assertRefused("mcp-core 0.17.2", () -> build(HoldfastTransportProvider.class, "0.17.2"));
    }

    /** Before 0.13 the classes of mcp-core were in mcp, as these are here. */
    @ParameterizedTest
    @ValueSource(strings = {"0.11.3", "0.12.1"})
    void oneFromBeforeMcpCoreIsRefused(String version) throws Exception {
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + core.toUri()), Map.of())) {
            Path properties = jar.getPath(PROPERTIES.replace("/mcp-core/", "/mcp/"));
            Files.createDirectories(properties.getParent());
            Files.writeString(properties, "version=" + version + "\n", UTF_8);
            Files.delete(jar.getPath(PROPERTIES));
        }
        assertRefused("mcp " + version, () -> buildWith(HoldfastTransportProvider.class));
        assertRefused("mcp " + version, () -> buildWith(HoldfastClientTransport.class, "http://127.0.0.1:1"));
    }

    private static void assertRefused(String sdk, org.assertj.core.api.ThrowableAssert.ThrowingCallable building) {
        assertThatThrownBy(building)
                .isInstanceOf(InvocationTargetException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(sdk
                        + " is not supported: Holdfast works with mcp-core 0.18 to 2.x (io.modelcontextprotocol.sdk)");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.18.0", "0.19.1", "1.0.0", "1.12.3", "2.0.0-RC1", "2.99.0"})
    void oneThatIsSupportedIsTaken(String version) {
        assertThatCode(() -> buildAll(version)).doesNotThrowAnyException();
        assertThat(core).exists();
    }
}
