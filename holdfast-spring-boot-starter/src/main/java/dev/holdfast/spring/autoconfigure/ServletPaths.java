package dev.holdfast.spring.autoconfigure;

import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath;
import org.springframework.util.ClassUtils;

/** Where the endpoints are in the application: under the path of Spring MVC, as Spring AI's own are. */
@FunctionalInterface
interface ServletPaths {
    String of(String endpoint);

    /** The same for several. */
    default String[] of(List<String> endpoints) {
        return endpoints.stream().map(this::of).toArray(String[]::new);
    }

    static ServletPaths in(BeanFactory beans) {
        boolean mvc = ClassUtils.isPresent(
                "org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath",
                ServletPaths.class.getClassLoader());
        return mvc ? Mvc.paths(beans) : endpoint -> endpoint.startsWith("/") ? endpoint : "/" + endpoint;
    }

    /** Loaded where Spring MVC is there. */
    final class Mvc {
        private Mvc() {}

        private static ServletPaths paths(BeanFactory beans) {
            return beans.getBeanProvider(DispatcherServletPath.class).getIfAvailable(() -> () -> "/")::getRelativePath;
        }
    }
}
