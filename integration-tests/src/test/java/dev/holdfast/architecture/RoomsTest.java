package dev.holdfast.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows between the rooms go down only, and each room brings in only the libraries it is there for. */
@AnalyzeClasses(packages = "dev.holdfast", importOptions = ImportOption.DoNotIncludeTests.class)
class RoomsTest {

    private static final String SPI = "dev.holdfast.spi";
    private static final String CORE = "dev.holdfast";
    private static final String LOG = "dev.holdfast.log";
    private static final String SESSION = "dev.holdfast.session";
    private static final String CLUSTER = "dev.holdfast.cluster";
    private static final String ENGINE = "dev.holdfast.engine";
    private static final String JSON = "dev.holdfast.json";
    private static final String BACKEND = "dev.holdfast.json.backend";
    private static final String MODERN = "dev.holdfast.modern";
    private static final String CLIENT = "dev.holdfast.client";
    private static final String CLIENT_HELD = "dev.holdfast.client.held";
    private static final String CLIENT_WIRE = "dev.holdfast.client.wire";
    private static final String UPSTREAM = "dev.holdfast.upstream";
    private static final String SERVLET = "dev.holdfast.servlet";
    private static final String EDGE_ROOMS = "dev.holdfast.servlet..";
    private static final String MCP = "dev.holdfast.mcp";
    private static final String MCP_CLIENT = "dev.holdfast.mcp.client";
    private static final String GATEWAY = "dev.holdfast.gateway..";
    private static final String MICROMETER = "dev.holdfast.micrometer";
    private static final String TCK = "dev.holdfast.tck";
    private static final String ROCKSDB = "dev.holdfast.rocksdb";
    private static final String REDIS = "dev.holdfast.redis";

    private static final String JDK = "java..";
    private static final String JSPECIFY = "org.jspecify.annotations";
    private static final String SLF4J = "org.slf4j..";
    private static final String SERVLET_API = "jakarta.servlet..";
    private static final String JETTY_CLIENT = "org.eclipse.jetty..";
    private static final String JACKSON_STREAMING = "tools.jackson.core..";

    @ArchTest
    static final ArchRule everyClassIsInARoom = classes()
            .should()
            .resideInAnyPackage(
                    SPI,
                    CORE,
                    LOG,
                    SESSION,
                    CLUSTER,
                    ENGINE,
                    JSON,
                    BACKEND,
                    MODERN,
                    CLIENT,
                    CLIENT_HELD,
                    CLIENT_WIRE,
                    MCP_CLIENT,
                    UPSTREAM,
                    SERVLET,
                    EDGE_ROOMS,
                    MCP,
                    MICROMETER,
                    GATEWAY,
                    TCK,
                    ROCKSDB,
                    REDIS);

    @ArchTest
    static final ArchRule spiNeedsTheJdkOnly = classes()
            .that()
            .resideInAPackage(SPI)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(SPI, JDK, JSPECIFY);

    @ArchTest
    static final ArchRule coreNeedsTheJdkAndSlf4jOnly = classes()
            .that()
            .resideInAnyPackage(CORE, LOG, SESSION, ENGINE)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(CORE, LOG, SESSION, ENGINE, SPI, JDK, JSPECIFY, SLF4J);

    /** Whoever runs one node needs none of it. */
    @ArchTest
    static final ArchRule clusterStandsOnTheSessionsOfTheCore = classes()
            .that()
            .resideInAPackage(CLUSTER)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(CLUSTER, SESSION, LOG, CORE, SPI, JDK, JSPECIFY, SLF4J);

    @ArchTest
    static final ArchRule clusterIsForStoresThatNodesShare = classes()
            .that()
            .resideInAPackage(CLUSTER)
            .should()
            .onlyBeAccessed()
            .byAnyPackage(CLUSTER, REDIS, TCK, MICROMETER);

    /** The public API is in {@code dev.holdfast}, the engine's front door in {@code dev.holdfast.engine}. */
    @ArchTest
    static final ArchRule roomsOfTheCoreStandOnThoseBelow = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("engine")
            .definedBy(ENGINE)
            .layer("cluster")
            .definedBy(CLUSTER)
            .layer("session")
            .definedBy(SESSION)
            .layer("log")
            .definedBy(LOG)
            .layer("api")
            .definedBy(CORE)
            .layer("users")
            .definedBy(SERVLET, EDGE_ROOMS, MODERN, MCP, MICROMETER, GATEWAY)
            .whereLayer("engine")
            .mayOnlyBeAccessedByLayers("users")
            .whereLayer("session")
            .mayOnlyBeAccessedByLayers("engine", "cluster")
            .whereLayer("log")
            .mayOnlyBeAccessedByLayers("engine", "cluster", "session")
            .whereLayer("api")
            .mayOnlyBeAccessedByLayers("users", "engine", "cluster", "session", "log");

    @ArchTest
    static final ArchRule messagesStandOnTheSpiAndJacksonStreaming = classes()
            .that()
            .resideInAPackage(JSON)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(JSON, SPI, JDK, JSPECIFY, JACKSON_STREAMING);

    @ArchTest
    static final ArchRule whatBackendsShareStandsOnMessages = classes()
            .that()
            .resideInAPackage(BACKEND)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(BACKEND, JSON, SPI, JDK, JSPECIFY);

    @ArchTest
    static final ArchRule whatBackendsShareIsForThem = classes()
            .that()
            .resideInAPackage(BACKEND)
            .should()
            .onlyBeAccessed()
            .byAnyPackage(BACKEND, UPSTREAM, GATEWAY, MCP, MCP_CLIENT);

    /** What has no sessions stands on what has: below it nobody knows of it. */
    @ArchTest
    static final ArchRule statelessRequestsStandOnTheEngine = classes()
            .that()
            .resideInAPackage(MODERN)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(MODERN, JSON, ENGINE, CORE, SPI, JDK, JSPECIFY, SLF4J);

    @ArchTest
    static final ArchRule statelessRequestsAreForTheEdge =
            classes().that().resideInAPackage(MODERN).should().onlyBeAccessed().byAnyPackage(MODERN, EDGE_ROOMS);

    @ArchTest
    static final ArchRule clientStandsOnMessagesAndTheJdk = classes()
            .that()
            .resideInAnyPackage(CLIENT_HELD, CLIENT, CLIENT_WIRE)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(CLIENT_HELD, CLIENT, CLIENT_WIRE, JSON, CORE, SPI, JDK, JSPECIFY, SLF4J);

    @ArchTest
    static final ArchRule roomsOfTheClientStandOnThoseBelow = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("held")
            .definedBy(CLIENT_HELD)
            .layer("sessions")
            .definedBy(CLIENT)
            .layer("wire")
            .definedBy(CLIENT_WIRE)
            .layer("transport")
            .definedBy(MCP_CLIENT)
            .layer("upstream")
            .definedBy(UPSTREAM)
            .layer("gateway")
            .definedBy(GATEWAY)
            .layer("doctor")
            .definedBy("dev.holdfast.gateway.doctor")
            .whereLayer("held")
            .mayOnlyBeAccessedByLayers("transport", "gateway")
            .whereLayer("sessions")
            .mayOnlyBeAccessedByLayers("transport", "upstream", "gateway", "held")
            .whereLayer("wire")
            .mayOnlyBeAccessedByLayers("upstream", "doctor", "sessions");

    @ArchTest
    static final ArchRule upstreamStandsOnTheClientAndTheSpi = classes()
            .that()
            .resideInAPackage(UPSTREAM)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    UPSTREAM,
                    CLIENT,
                    CLIENT_WIRE,
                    BACKEND,
                    JSON,
                    SPI,
                    CORE,
                    JDK,
                    "javax.net.ssl",
                    JSPECIFY,
                    SLF4J,
                    SERVLET_API,
                    JETTY_CLIENT);

    /** Who does not ask for it needs none. */
    @ArchTest
    static final ArchRule jettysClientIsNamedWhereItIsUsed = classes()
            .that()
            .resideInAPackage(UPSTREAM)
            .and()
            .haveNameNotMatching(".*\\.Jetty[^.]*")
            .should()
            .onlyDependOnClassesThat()
            .resideOutsideOfPackage(JETTY_CLIENT);

    @ArchTest
    static final ArchRule transportOfTheSdksClientStandsOnTheClientAndTheSdk = classes()
            .that()
            .resideInAPackage(MCP_CLIENT)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    MCP_CLIENT,
                    CLIENT_HELD,
                    CLIENT,
                    BACKEND,
                    JSON,
                    JDK,
                    JSPECIFY,
                    SLF4J,
                    "io.modelcontextprotocol..",
                    "reactor..",
                    "org.reactivestreams..");

    @ArchTest
    static final ArchRule edgeStandsOnCoreMessagesAndServlet = classes()
            .that()
            .resideInAPackage(EDGE_ROOMS)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(EDGE_ROOMS, MODERN, JSON, ENGINE, CORE, SPI, JDK, JSPECIFY, SLF4J, SERVLET_API);

    /** The protocols and the public API are in {@code dev.holdfast.servlet}; users of the edge depend on that package only. */
    @ArchTest
    static final ArchRule roomsOfTheEdgeStandOnThoseBelow = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .layer("protocols")
            .definedBy(SERVLET)
            .layer("http")
            .definedBy(SERVLET + ".http")
            .layer("sse")
            .definedBy(SERVLET + ".sse")
            .layer("guard")
            .definedBy(SERVLET + ".guard")
            .layer("io")
            .definedBy(SERVLET + ".io")
            .layer("console")
            .definedBy(SERVLET + ".console")
            .layer("users")
            .definedBy(MCP, GATEWAY)
            .whereLayer("console")
            .mayOnlyBeAccessedByLayers("users")
            .whereLayer("protocols")
            .mayOnlyBeAccessedByLayers("users")
            .whereLayer("http")
            .mayOnlyBeAccessedByLayers("protocols")
            .whereLayer("sse")
            .mayOnlyBeAccessedByLayers("protocols", "http")
            .whereLayer("guard")
            .mayOnlyBeAccessedByLayers("protocols", "http", "console")
            .whereLayer("io")
            .mayOnlyBeAccessedByLayers("protocols", "http", "sse");

    @ArchTest
    static final ArchRule adapterStandsOnTheEdgeAndTheSdk = classes()
            .that()
            .resideInAPackage(MCP)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    MCP,
                    BACKEND,
                    JSON,
                    SERVLET,
                    ENGINE,
                    CORE,
                    SPI,
                    JDK,
                    JSPECIFY,
                    SLF4J,
                    SERVLET_API,
                    "io.modelcontextprotocol..",
                    "reactor..",
                    "org.reactivestreams..");

    @ArchTest
    static final ArchRule metersStandOnTheCoreMessagesAndMicrometer = classes()
            .that()
            .resideInAPackage(MICROMETER)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(MICROMETER, JSON, ENGINE, CLUSTER, CORE, SPI, JDK, JSPECIFY, "io.micrometer..");

    @ArchTest
    static final ArchRule aStoreStandsOnTheSpiAndItsEngine = classes()
            .that()
            .resideInAPackage(ROCKSDB)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(ROCKSDB, SPI, JDK, JSPECIFY, SLF4J, "org.rocksdb..");

    @ArchTest
    static final ArchRule theStoreInRedisStandsOnTheClusterTheSpiAndItsClient = classes()
            .that()
            .resideInAPackage(REDIS)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    REDIS, CLUSTER, SPI, JDK, JSPECIFY, SLF4J, "javax.net.ssl..", "io.lettuce..", "io.netty..");

    @ArchTest
    static final ArchRule theContractOfAStoreStandsOnTheClusterTheSpiAndTheTestLibraries = classes()
            .that()
            .resideInAPackage(TCK)
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(TCK, CLUSTER, SPI, JDK, JSPECIFY, SLF4J, "org.junit.jupiter.api..", "org.assertj..");

    /** The demo server is written on the SDK, whose asynchronous handlers are Reactor's. */
    @ArchTest
    static final ArchRule reactorStopsInTheAdapter = noClasses()
            .that()
            .resideOutsideOfPackages(MCP, MCP_CLIENT, "dev.holdfast.gateway.demo")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("reactor..", "org.reactivestreams..");

    @ArchTest
    static final ArchRule nothingStandsOnTheGateway = noClasses()
            .that()
            .resideOutsideOfPackage(GATEWAY)
            .should()
            .dependOnClassesThat()
            .resideInAPackage(GATEWAY);

    // The capture takes the whole rest of the name, so that dev.holdfast and dev.holdfast.spi are slices of their own.
    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.(**)").should().beFreeOfCycles();
}
