package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.webmvc.test.autoconfigure.AutoConfigureMockMvc;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.ShallowEtagHeaderFilter;

/** Pages of the application beside Holdfast, as their tests see them: there every filter meets every request. */
@SpringBootTest(
        classes = MockMvcTest.Pages.class,
        properties = {"spring.ai.mcp.server.protocol=STREAMABLE"})
@AutoConfigureMockMvc
@Timeout(120)
class MockMvcTest {
    @Configuration(proxyBeanMethods = false)
    @Import({AiApplication.class, Page.class})
    static class Pages {
        @Bean
        ShallowEtagHeaderFilter etags() {
            return new ShallowEtagHeaderFilter();
        }
    }

    @RestController
    static class Page {
        @GetMapping("/page")
        String page() {
            return "a page";
        }
    }

    @Autowired
    MockMvcTester mvc;

    @Test
    void aPageKeepsItsTag() {
        assertThat(mvc.get().uri("/page")).hasStatusOk().containsHeader("ETag");
    }
}
