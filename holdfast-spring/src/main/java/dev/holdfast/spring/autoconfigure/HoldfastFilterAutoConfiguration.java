package dev.holdfast.spring.autoconfigure;

import java.util.Optional;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.web.filter.ShallowEtagHeaderFilter;

/** What Spring's own filters have to know of a request, where there may be some. */
@AutoConfiguration(after = HoldfastAutoConfiguration.class)
@ConditionalOnClass(ShallowEtagHeaderFilter.class)
@ConditionalOnBean(name = "holdfastServlet")
public final class HoldfastFilterAutoConfiguration {
    HoldfastFilterAutoConfiguration() {}

    @Bean
    FilterRegistrationBean<ServletFilter> holdfastFilter(
            @Qualifier("holdfastServlet") Optional<ServletRegistrationBean<?>> servlet) {
        return ServletFilter.before(servlet, "holdfast", SpringFilters::tell);
    }
}
