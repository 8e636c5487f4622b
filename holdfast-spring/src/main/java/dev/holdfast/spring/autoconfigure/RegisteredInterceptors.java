package dev.holdfast.spring.autoconfigure;

import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.http.server.PathContainer;
import org.springframework.util.AntPathMatcher;
import org.springframework.util.ClassUtils;
import org.springframework.web.context.request.WebRequestInterceptor;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.config.annotation.InterceptorRegistration;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import org.springframework.web.servlet.handler.MappedInterceptor;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/**
 * The interceptors that an application has registered with Spring MVC. Its handler mappings do not tell theirs, so the configurers are
 * asked for them as Spring MVC asks. What Spring MVC adds for itself is not among them.
 */
final class RegisteredInterceptors extends InterceptorRegistry {
    private RegisteredInterceptors() {}

    /** An interceptor of requests, registered as one of handlers. */
    private record OfRequests(WebRequestInterceptor interceptor) implements HandlerInterceptor {}

    /** The names of the classes of those that see requests to one of the paths, by where these stand below Spring MVC's own. */
    static List<String> of(BeanFactory beans, List<String> paths) {
        RegisteredInterceptors registered = new RegisteredInterceptors();
        beans.getBeanProvider(WebMvcConfigurer.class)
                .orderedStream()
                .forEach(configurer -> configurer.addInterceptors(registered));
        return Stream.concat(
                        registered.getInterceptors().stream(),
                        beans.getBeanProvider(MappedInterceptor.class).orderedStream())
                .filter(interceptor -> paths.stream().anyMatch(path -> sees(interceptor, path)))
                .map(RegisteredInterceptors::name)
                .distinct()
                .toList();
    }

    @Override
    public InterceptorRegistration addWebRequestInterceptor(WebRequestInterceptor interceptor) {
        return addInterceptor(new OfRequests(interceptor));
    }

    private static boolean sees(Object interceptor, String path) {
        if (!(interceptor instanceof MappedInterceptor mapped)) {
            return true;
        }
        List<String> included = patterns(mapped.getIncludePathPatterns());
        return (included.isEmpty() || matches(included, path))
                && !matches(patterns(mapped.getExcludePathPatterns()), path);
    }

    private static List<String> patterns(String @Nullable [] given) {
        return given == null ? List.of() : List.of(given);
    }

    private static boolean matches(List<String> patterns, String path) {
        return patterns.stream().anyMatch(pattern -> matches(pattern, path));
    }

    private static boolean matches(String pattern, String path) {
        try {
            return PathPatternParser.defaultInstance.parse(pattern).matches(PathContainer.parsePath(path));
        } catch (PatternParseException e) {
            // Spring MVC takes such a pattern for one of the older kind
            return new AntPathMatcher().match(pattern, path);
        }
    }

    private static String name(Object interceptor) {
        Object named = interceptor;
        if (named instanceof MappedInterceptor mapped) {
            named = mapped.getInterceptor();
        }
        if (named instanceof OfRequests ofRequests) {
            named = ofRequests.interceptor();
        }
        return ClassUtils.getUserClass(named).getName();
    }
}
