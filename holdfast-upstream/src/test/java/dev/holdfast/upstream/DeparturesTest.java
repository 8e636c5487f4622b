package dev.holdfast.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeparturesTest {
    private final Departures departures = new Departures();
    private final List<String> begun = new ArrayList<>();

    private void add(String name) {
        departures.add(() -> begun.add(name));
    }

    @Test
    void whatWaitsBeginsInTheOrderInWhichItCame() {
        add("first");
        add("second");
        add("third");
        assertThat(begun).isEmpty();
        departures.open();
        add("fourth");
        assertThat(begun).containsExactly("first", "second", "third", "fourth");
    }

    @Test
    void aTaskHoldsBackWhatComesAfterIt() {
        departures.add(() -> {
            begun.add("introduction");
            departures.close();
        });
        add("first");
        departures.open();
        add("second");
        assertThat(begun).containsExactly("introduction");
        departures.open();
        assertThat(begun).containsExactly("introduction", "first", "second");
    }

    @Test
    void whatATaskAddsComesAfterWhatWaits() {
        departures.add(() -> add("later"));
        add("first");
        departures.open();
        assertThat(begun).containsExactly("first", "later");
    }
}
