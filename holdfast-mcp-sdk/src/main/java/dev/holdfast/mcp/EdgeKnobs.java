package dev.holdfast.mcp;

import dev.holdfast.Lifetime;
import dev.holdfast.servlet.EdgeOptions;
import dev.holdfast.servlet.HttpSseOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** The edge's options on their way: a base, and single knobs that win over it whichever is set first. */
final class EdgeKnobs {
    private final List<UnaryOperator<EdgeOptions>> knobs = new ArrayList<>();
    private EdgeOptions options = EdgeOptions.DEFAULT;

    /** The base with every knob applied to it. */
    EdgeOptions options() {
        return options;
    }

    /** Sets the base. */
    void base(EdgeOptions base) {
        options = base;
        knobs.forEach(knob -> options = knob.apply(options));
    }

    /** Sets single knobs. */
    void set(UnaryOperator<EdgeOptions.Builder> change) {
        add(base -> change.apply(base.toBuilder()).build());
    }

    void lifetime(UnaryOperator<Lifetime> change) {
        add(base -> base.toBuilder().lifetime(change.apply(base.lifetime())).build());
    }

    void httpSse(UnaryOperator<HttpSseOptions> change) {
        add(base -> base.toBuilder()
                .httpSse(Optional.of(change.apply(base.httpSse().orElse(HttpSseOptions.DEFAULT))))
                .build());
    }

    private void add(UnaryOperator<EdgeOptions> knob) {
        options = knob.apply(options);
        knobs.add(knob);
    }
}
