package dev.holdfast.gateway;

import dev.holdfast.gateway.connect.HeaderFile;
import dev.holdfast.gateway.doctor.Doctor;
import dev.holdfast.gateway.doctor.Report;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import java.io.PrintWriter;
import java.util.function.IntSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** {@code holdfast doctor}: examines a server over HTTP, and what lies before it. */
final class DoctorCommand implements IntSupplier {
    private static final Logger log = LoggerFactory.getLogger(DoctorCommand.class);
    /** As for a command line that is wrong: 1 says that a problem was found. */
    private static final int NOT_EXAMINED = 2;

    private final KnobValues settings;
    private final PrintWriter out;
    private final Doctor doctor;

    /**
     * What the command line asks for.
     *
     * @param out takes the findings
     * @param err takes what is going on
     * @throws IllegalArgumentException says what is wrong, with the file of headers too
     */
    DoctorCommand(String url, KnobValues settings, PrintWriter out, PrintWriter err) {
        this.settings = settings;
        this.out = out;
        this.doctor = new Doctor(
                ConnectCommand.uri(url),
                headers(settings).requests(),
                settings.get(Knobs.FOR),
                settings.find(Knobs.TOOL),
                settings.get(Knobs.TOOL_ARGUMENTS),
                line -> err.println("holdfast: " + line));
    }

    private static HeaderFile headers(KnobValues settings) {
        try {
            return HeaderFile.of(
                    settings.get(Knobs.HEADER),
                    settings.find(Knobs.HEADER_FILE).map(file -> new OptionFile(Knobs.HEADER_FILE.name(), file)));
        } catch (GatewayException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /** Examines, and ends its sessions also when it is told to stop before it is done. */
    @Override
    public int getAsInt() {
        Runtime.getRuntime().addShutdownHook(new Thread(doctor::close, "holdfast-doctor-stop"));
        Report report;
        try {
            report = doctor.examine();
        } catch (RuntimeException e) {
            log.error("the server could not be examined, for the doctor has failed in a way that nobody expected", e);
            return NOT_EXAMINED;
        }
        if (settings.get(Knobs.JSON)) {
            out.println(report.json());
        } else {
            report.lines().forEach(out::println);
        }
        return report.exitCode();
    }
}
