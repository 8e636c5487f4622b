package dev.holdfast.spring.autoconfigure;

import dev.holdfast.mcp.HoldfastTransportProvider;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Names the interceptors of Spring MVC that an application may expect to see requests to its MCP server, which they do not. */
@AutoConfiguration(after = {HoldfastAutoConfiguration.class, HoldfastOpenInViewAutoConfiguration.class})
@ConditionalOnClass(WebMvcConfigurer.class)
@ConditionalOnBean(HoldfastTransportProvider.class)
public final class HoldfastInterceptorsAutoConfiguration {
    private static final Logger log = LoggerFactory.getLogger(HoldfastInterceptorsAutoConfiguration.class);

    /** It is called for Holdfast's requests too. */
    private static final String OPEN_IN_VIEW = "org.springframework.orm.jpa.support.OpenEntityManagerInViewInterceptor";

    HoldfastInterceptorsAutoConfiguration() {}

    /** What cannot be asked stops no application. */
    private static List<String> known(ListableBeanFactory beans, List<String> paths) {
        try {
            return RegisteredInterceptors.of(beans, paths);
        } catch (RuntimeException | LinkageError e) {
            log.debug("the interceptors of Spring MVC are not known", e);
            return List.of();
        }
    }

    @Bean
    SmartInitializingSingleton holdfastInterceptors(
            ObjectProvider<HoldfastTransportProvider> transports, ListableBeanFactory beans) {
        return () -> {
            List<String> paths = transports.stream()
                    .flatMap(transport -> transport.endpoints().stream())
                    .filter(path -> path.equals("/") || !path.endsWith("/"))
                    .toList();
            List<String> names = new ArrayList<>(known(beans, paths));
            if (beans.containsBean("holdfastOpenInView")) {
                names.remove(OPEN_IN_VIEW);
            }
            if (!names.isEmpty()) {
                log.warn(
                        "interceptors of Spring MVC do not run for {}, which is a servlet of its own: {}."
                                + " What they check or set up for tools, a servlet filter has to."
                                + " One that is not meant for tools excludes the path.",
                        String.join(", ", paths),
                        String.join(", ", names));
            }
        };
    }
}
