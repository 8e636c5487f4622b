package dev.holdfast.gateway;

import dev.holdfast.gateway.connect.HeaderFile;
import dev.holdfast.gateway.doctor.Doctor;
import dev.holdfast.gateway.doctor.Report;
import dev.holdfast.gateway.text.OptionFile;
import java.io.PrintWriter;
import java.util.function.IntSupplier;

/** {@code holdfast doctor}: examines a server over HTTP, and what lies before it. */
final class DoctorCommand implements IntSupplier {
    private final KnobValues settings;
    private final PrintWriter out;
    private final Doctor doctor;

    /**
     * What the command line asks for.
     *
     * @param out takes the findings
     * @param err takes what is going on
     * @throws IllegalArgumentException says what is wrong
     * @throws GatewayException if the file of headers cannot be read
     */
    DoctorCommand(String url, KnobValues settings, PrintWriter out, PrintWriter err) {
        this.settings = settings;
        this.out = out;
        HeaderFile headers = HeaderFile.of(
                settings.get(Knobs.HEADER),
                settings.find(Knobs.HEADER_FILE).map(file -> new OptionFile(Knobs.HEADER_FILE.name(), file)));
        this.doctor = new Doctor(
                ConnectCommand.uri(url),
                headers.requests(),
                settings.get(Knobs.FOR),
                settings.find(Knobs.TOOL),
                settings.get(Knobs.TOOL_ARGUMENTS),
                line -> err.println("holdfast: " + line));
    }

    @Override
    public int getAsInt() {
        Report report = doctor.examine();
        if (settings.get(Knobs.JSON)) {
            out.println(report.json());
        } else {
            report.lines().forEach(out::println);
        }
        return report.exitCode();
    }
}
