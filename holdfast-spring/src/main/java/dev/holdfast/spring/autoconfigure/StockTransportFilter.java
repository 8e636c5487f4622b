package dev.holdfast.spring.autoconfigure;

import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanClassLoaderAware;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Leaves out the auto-configurations of transports whose place Holdfast takes. They make their beans whatever other transports there
 * are: two transports stop the start of Spring AI's server, and each connection of a client would be there twice.
 */
final class StockTransportFilter implements AutoConfigurationImportFilter, EnvironmentAware, BeanClassLoaderAware {
    private static final Set<String> OF_SERVERS =
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
        Set<String> replaced = replaced();
        boolean[] stays = new boolean[names.length];
        for (int i = 0; i < names.length; i++) {
            String name = names[i];
            stays[i] = name == null || !replaced.contains(name);
        }
        return stays;
    }

    private Set<String> replaced() {
        Set<String> replaced = new HashSet<>();
        Environment given = environment;
        if (given != null) {
            if (isPresent("dev.holdfast.mcp.HoldfastTransportProvider")
                    && isPresent("dev.holdfast.micrometer.HoldfastMetrics")
                    && StockTransport.of(given, classes) == StockTransport.REPLACED) {
                replaced.addAll(OF_SERVERS);
            }
            if (isPresent("dev.holdfast.mcp.client.HoldfastClientTransport")
                    && HoldfastClientAutoConfiguration.OnEnabled.isEnabled(given)) {
                replaced.add(HoldfastClientAutoConfiguration.STOCK);
            }
        }
        return replaced;
    }

    private boolean isPresent(String type) {
        return ClassUtils.isPresent(type, classes);
    }
}
