package dev.holdfast.spring.autoconfigure;

import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath;
import org.springframework.util.ClassUtils;

/** What the servlet is mapped to: the endpoints under the path of Spring MVC, where Spring AI's own are. */
@FunctionalInterface
interface ServletPaths {
    /** What is there where Spring MVC is. */
    String MVC = "org.springframework.boot.webmvc.autoconfigure.DispatcherServletPath";

    /** The same in Spring Boot 3. */
    String MVC_3 = "org.springframework.boot.autoconfigure.web.servlet.DispatcherServletPath";

    /** The path of an endpoint. */
    String path(String endpoint);

    /** A pattern for this path and no other; that of the root is empty. */
    default String of(String endpoint) {
        String path = path(endpoint);
        return path.equals("/") ? "" : path;
    }

    /** The same for several. */
    default String[] of(List<String> endpoints) {
        return endpoints.stream().map(this::of).toArray(String[]::new);
    }

    static ServletPaths in(BeanFactory beans) {
        ClassLoader classes = ServletPaths.class.getClassLoader();
        if (ClassUtils.isPresent(MVC, classes)) {
            return Mvc.paths(beans);
        }
        return ClassUtils.isPresent(MVC_3, classes)
                ? Mvc3.paths(beans)
                : endpoint -> endpoint.startsWith("/") ? endpoint : "/" + endpoint;
    }

    /** Loaded where Spring MVC is there. */
    final class Mvc {
        private Mvc() {}

        private static ServletPaths paths(BeanFactory beans) {
            return beans.getBeanProvider(DispatcherServletPath.class).getIfAvailable(() -> () -> "/")::getRelativePath;
        }
    }

    /** The same for Spring Boot 3. */
    final class Mvc3 {
        private Mvc3() {}

        private static ServletPaths paths(BeanFactory beans) {
            return beans.getBeanProvider(org.springframework.boot.autoconfigure.web.servlet.DispatcherServletPath.class)
                    .getIfAvailable(() -> () -> "/")::getRelativePath;
        }
    }
}
