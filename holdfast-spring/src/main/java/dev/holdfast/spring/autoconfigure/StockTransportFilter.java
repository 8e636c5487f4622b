package dev.holdfast.spring.autoconfigure;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/**
 * Leaves out the auto-configuration of the transport whose place Holdfast takes. That makes its bean whatever other transports there
 * are, and two transports stop the start of Spring AI's server.
 */
final class StockTransportFilter implements AutoConfigurationImportFilter, EnvironmentAware, BeanClassLoaderAware {
    private static final Set<String> STOCK =
            Set.of(StockTransport.STREAMABLE, StockTransport.SSE, StockTransport.STREAMABLE_1, StockTransport.SSE_1);

    private @Nullable Environment environment;
    private @Nullable ClassLoader classes;

    @Override
    public void setEnvironment(Environment value) {
        environment = value;
    }

    @Override
    public void setBeanClassLoader(ClassLoader value) {
        classes = value;
    }

    @Override
    public boolean[] match(@Nullable String[] names, AutoConfigurationMetadata metadata) {
        boolean replaced = replaces();
        boolean[] stays = new boolean[names.length];
        for (int i = 0; i < names.length; i++) {
            String name = names[i];
            stays[i] = !replaced || name == null || !STOCK.contains(name);
        }
        return stays;
    }

    private boolean replaces() {
        Environment given = environment;
        return given != null && StockTransport.of(given, classes) == StockTransport.REPLACED;
    }
}
