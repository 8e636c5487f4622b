package dev.holdfast.gateway;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** What {@code holdfast doctor} has found, by checks. */
record DoctorFindings(int exit, JsonNode all) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Lets it examine a server, for 6 s unless an option says otherwise. */
    static DoctorFindings at(URI url, String... options) {
        List<String> words = new ArrayList<>(List.of("doctor", "--json"));
        words.addAll(List.of(options));
        if (!words.contains("--for")) {
            words.addAll(List.of("--for", "6s"));
        }
        words.add(url.toString());
        StringWriter out = new StringWriter();
        int exit =
                Main.run(new PrintWriter(out, true), new PrintWriter(new StringWriter()), words.toArray(String[]::new));
        return new DoctorFindings(exit, JSON.readTree(out.toString()));
    }

    JsonNode of(String check) {
        return all.path("findings")
                .valueStream()
                .filter(each -> each.path("check").asString().equals(check))
                .findFirst()
                .orElseThrow(() -> new AssertionError(check + " in " + all));
    }

    String level(String check) {
        return of(check).path("level").asString();
    }

    String found(String check) {
        return of(check).path("found").asString();
    }

    String advice(String check) {
        return of(check).path("advice").asString();
    }

    long figure(String check, String name) {
        return of(check).path("figures").path(name).asLong(-1);
    }

    List<String> notOk() {
        return all.path("findings")
                .valueStream()
                .filter(each -> !each.path("level").asString().equals("ok"))
                .map(JsonNode::toString)
                .toList();
    }
}
