package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.ui.ModelMap;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.context.request.WebRequestInterceptor;
import org.springframework.web.servlet.HandlerInterceptor;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import org.springframework.web.servlet.handler.MappedInterceptor;

/** What is told of interceptors of Spring MVC, which do not see Holdfast's requests. */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
class InterceptorsTest {
    /** Other tests make Holdfast complain on purpose, and its log is off. */
    static final String LOG = "--logging.level.dev.holdfast.spring=WARN";

    static final String TOLD = "interceptors of Spring MVC do not run for";

    static final class Tenants implements HandlerInterceptor {}

    static final class OfPages implements HandlerInterceptor {}

    static final class NotOfTools implements HandlerInterceptor {}

    static final class Mapped implements HandlerInterceptor {}

    static final class OfRequests implements WebRequestInterceptor {
        @Override
        public void preHandle(WebRequest request) {}

        @Override
        public void postHandle(WebRequest request, @Nullable ModelMap model) {}

        @Override
        public void afterCompletion(WebRequest request, @Nullable Exception failure) {}
    }

    @Configuration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class Intercepted implements WebMvcConfigurer {
        @Override
        public void addInterceptors(InterceptorRegistry registry) {
            registry.addInterceptor(new Tenants());
            registry.addInterceptor(new OfPages()).addPathPatterns("/pages/**");
            registry.addInterceptor(new NotOfTools()).excludePathPatterns("/mcp");
            registry.addWebRequestInterceptor(new OfRequests()).addPathPatterns("/m*");
        }

        @Bean
        MappedInterceptor mapped() {
            return new MappedInterceptor(new String[] {"/**/mcp", "/**"}, new Mapped());
        }

        @Bean
        MappedInterceptor mappedElsewhere() {
            return new MappedInterceptor(new String[] {"/elsewhere"}, new OfPages());
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import(AiApplication.class)
    static class OfPagesOnly implements WebMvcConfigurer {
        @Override
        public void addInterceptors(InterceptorRegistry registry) {
            registry.addInterceptor(new OfPages()).addPathPatterns("/pages/**");
        }
    }

    @Test
    void thoseOfTheEndpointsPathAreNamed(CapturedOutput output) {
        try (ConfigurableApplicationContext application =
                Applications.start(Intercepted.class, LOG, "--spring.mvc.servlet.path=/app")) {
            assertThat(application.isActive()).isTrue();
        }

        assertThat(output.getAll().lines().filter(line -> line.contains(TOLD)))
                .singleElement()
                .asString()
                .contains("WARN", "/mcp", "Tenants", "OfRequests", "Mapped")
                .doesNotContain("OfPages", "NotOfTools", "Adapter", "ConversionService");
    }

    @Test
    void whereNoneMatchesNothingIsTold(CapturedOutput output) {
        try (ConfigurableApplicationContext application = Applications.start(OfPagesOnly.class, LOG)) {
            assertThat(application.isActive()).isTrue();
        }

        assertThat(output.getAll()).doesNotContain(TOLD);
    }
}
