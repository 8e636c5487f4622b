package dev.holdfast.spring.client.autoconfigure;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/** Leaves out the auto-configuration of the transports whose place Holdfast takes: each connection would be there twice. */
final class StockClientTransport implements AutoConfigurationImportFilter, EnvironmentAware {
    /** The auto-configuration of Spring AI that makes a transport for each connection. */
    static final String STREAMABLE =
            "org.springframework.ai.mcp.client.httpclient.autoconfigure.StreamableHttpHttpClientTransportAutoConfiguration";

    private static final Set<String> STOCK = Set.of(STREAMABLE);

    private @Nullable Environment environment;

    static boolean replacedIn(Environment environment) {
        return environment.getProperty("holdfast.client.enabled", Boolean.class, true);
    }

    @Override
    public void setEnvironment(Environment value) {
        environment = value;
    }

    @Override
    public boolean[] match(@Nullable String[] names, AutoConfigurationMetadata metadata) {
        Environment given = environment;
        boolean replaced = given != null && replacedIn(given);
        boolean[] stays = new boolean[names.length];
        for (int i = 0; i < names.length; i++) {
            String name = names[i];
            stays[i] = !replaced || name == null || !STOCK.contains(name);
        }
        return stays;
    }
}
