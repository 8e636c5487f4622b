package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;
import java.util.ArrayList;
import java.util.List;
import org.hibernate.SessionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;

/** Tools that read what JPA loads lazily, in an application as Spring Boot sets it up: with {@code spring.jpa.open-in-view}. */
@ExtendWith(OutputCaptureExtension.class)
@Timeout(120)
class OpenInViewTest {
    private static final String DATABASE = "--spring.autoconfigure.exclude=";

    @Entity(name = "Purchase")
    static class Purchase {
        @Id
        @GeneratedValue
        private Long id = 0L;

        @OneToMany(cascade = CascadeType.ALL)
        private List<Line> lines = new ArrayList<>();
    }

    @Entity(name = "Line")
    static class Line {
        @Id
        @GeneratedValue
        private Long id = 0L;
    }

    @Component
    static class Purchases {
        private final EntityManager purchases;

        Purchases(EntityManager purchases, TransactionTemplate transaction) {
            this.purchases = purchases;
            transaction.executeWithoutResult(status -> {
                Purchase purchase = new Purchase();
                purchase.lines.add(new Line());
                purchase.lines.add(new Line());
                purchases.persist(purchase);
            });
        }

        @McpTool(name = "lines", description = "Counts the lines of every purchase")
        String lines() {
            int lines = purchases.createQuery("from Purchase", Purchase.class).getResultList().stream()
                    .mapToInt(purchase -> purchase.lines.size())
                    .sum();
            return lines + " lines";
        }
    }

    @Configuration(proxyBeanMethods = false)
    @Import({AiApplication.class, Purchases.class})
    static class Shop {}

    private static ConfigurableApplicationContext start(String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        all.add(DATABASE);
        all.add("--spring.datasource.url=jdbc:h2:mem:" + System.nanoTime());
        all.add("--spring.jpa.properties.hibernate.generate_statistics=true");
        return Applications.start(Shop.class, all.toArray(String[]::new));
    }

    @Test
    void whatIsLoadedLazilyIsThere(CapturedOutput output) throws Exception {
        try (ConfigurableApplicationContext application = start(InterceptorsTest.LOG)) {
            Wire client = Wire.open(Applications.port(application), "/mcp");

            assertThat(client.call("lines", "{}")).contains("2 lines");
            assertThat(client.call("lines", "{}")).contains("2 lines");
            client.delete();
            assertThat(leftOpen(application)).isZero();
            assertThat(output.getAll()).doesNotContain(InterceptorsTest.TOLD);
        }
    }

    private static long leftOpen(ConfigurableApplicationContext application) {
        var statistics = application
                .getBean(EntityManagerFactory.class)
                .unwrap(SessionFactory.class)
                .getStatistics();
        return statistics.getSessionOpenCount() - statistics.getSessionCloseCount();
    }

    @Test
    void whereItIsSwitchedOffItIsNot() throws Exception {
        try (ConfigurableApplicationContext application = start("--spring.jpa.open-in-view=false")) {
            Wire client = Wire.open(Applications.port(application), "/mcp");

            assertThat(client.call("lines", "{}")).doesNotContain("2 lines").contains("\"isError\":true");
        }
    }
}
