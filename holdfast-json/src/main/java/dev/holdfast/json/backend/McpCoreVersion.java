package dev.holdfast.json.backend;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** Which versions of the MCP Java SDK the adapters of its server and its client work with. */
public final class McpCoreVersion {
    /** Before 0.13 there was no mcp-core: its classes were in mcp, which has none since. */
    private static final List<String> ARTIFACTS = List.of("mcp-core", "mcp");

    private static final String SUPPORTED = "(?:0\\.(?:1[89]|[2-9]\\d)|[12]\\.\\d+)\\..*";

    private McpCoreVersion() {}

    /**
     * Refuses an SDK that the adapters do not work with. Call it before any other class of the SDK is loaded: an old one may lack it. An
     * SDK without a version, such as one that was repackaged in another jar, passes.
     *
     * @param sdk any class of mcp-core
     * @throws IllegalStateException if its version is not supported
     */
    public static void requireSupported(Class<?> sdk) {
        for (String artifact : ARTIFACTS) {
            String version = of(artifact, sdk);
            if (version != null) {
                require(artifact, version);
                return;
            }
        }
    }

    private static void require(String artifact, String version) {
        if (!version.matches(SUPPORTED)) {
            throw new IllegalStateException(artifact + " " + version
                    + " is not supported: Holdfast works with mcp-core 0.18 to 2.x (io.modelcontextprotocol.sdk)");
        }
    }

    private static @Nullable String of(String artifact, Class<?> sdk) {
        Properties properties = new Properties();
        String file = "/META-INF/maven/io.modelcontextprotocol.sdk/" + artifact + "/pom.properties";
        try (InputStream in = sdk.getResourceAsStream(file)) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            return null;
        }
        return properties.getProperty("version");
    }
}
