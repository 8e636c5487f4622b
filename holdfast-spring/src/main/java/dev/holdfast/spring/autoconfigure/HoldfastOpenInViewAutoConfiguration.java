package dev.holdfast.spring.autoconfigure;

import dev.holdfast.spring.properties.TransportSettings;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.orm.jpa.support.OpenEntityManagerInViewInterceptor;
import org.springframework.web.context.request.ServletWebRequest;
import org.springframework.web.context.request.async.WebAsyncUtils;

/**
 * An open {@code EntityManager} for handlers that run on the threads of their requests, where {@code spring.jpa.open-in-view} has one
 * for those of Spring MVC.
 */
@AutoConfiguration(
        after = HoldfastAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
            "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration"
        })
@ConditionalOnClass(OpenEntityManagerInViewInterceptor.class)
@ConditionalOnBean(name = "holdfastServlet")
@ConditionalOnSingleCandidate(OpenEntityManagerInViewInterceptor.class)
public final class HoldfastOpenInViewAutoConfiguration {
    HoldfastOpenInViewAutoConfiguration() {}

    @Bean
    FilterRegistrationBean<ServletFilter> holdfastOpenInView(
            @Qualifier("holdfastServlet") Optional<ServletRegistrationBean<?>> servlet,
            OpenEntityManagerInViewInterceptor interceptor,
            TransportSettings settings) {
        return ServletFilter.before(
                servlet.filter(there -> settings.immediateExecution()),
                "holdfastOpenInView",
                (request, response, chain) -> open(interceptor, request, response, chain));
    }

    /** Such a handler has ended when the servlet returns, also where its answer goes on its way later. */
    private static void open(
            OpenEntityManagerInViewInterceptor interceptor,
            HttpServletRequest request,
            ServletResponse response,
            FilterChain chain)
            throws IOException, ServletException {
        if (!request.getMethod().equals("POST")) {
            chain.doFilter(request, response);
            return;
        }
        ServletWebRequest web = new ServletWebRequest(request);
        interceptor.preHandle(web);
        try {
            chain.doFilter(request, response);
        } finally {
            interceptor.afterCompletion(web, null);
            // it has left itself there, and the stream of the answer may last
            request.removeAttribute(WebAsyncUtils.WEB_ASYNC_MANAGER_ATTRIBUTE);
        }
    }
}
