import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.arrow.c.ArrowArrayStream;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.lance.Dataset;
import org.lance.WriteParams;
import org.lance.ipc.LanceScanner;
import org.lance.merge.MergeInsertParams;
import org.lance.namespace.RestNamespace;

/*
 * As writer.ts, with Lance for Java: `Client URL NUMBER PATH`. It has no update by an expression, so it counts nothing.
 * Half of its rows go to the table past the catalog, by its path. `Client URL` prints the rows of the table instead.
 */
public class Client {
  private static final List<String> table = List.of("t");
  private static final RootAllocator memory = new RootAllocator();
  private static final Random random = new Random();
  private static final RestNamespace namespace = new RestNamespace();
  private static final List<Long> there = new ArrayList<>();

  /** A table as it was opened, and the rows of this writer that it has. A handle does not delete what it does not see. */
  private record Handle(Dataset dataset, List<Long> rows, long opened) {}

  public static void main(String[] given) throws Exception {
    namespace.initialize(Map.of("uri", given[0]), memory);
    if (given.length == 1) read();
    else write(Long.parseLong(given[1]) * 1_000_000, given[2]);
  }

  private static void read() throws Exception {
    try (Dataset dataset = opened(); LanceScanner scan = dataset.newScan(); ArrowReader batches = scan.scanBatches()) {
      VectorSchemaRoot batch = batches.getVectorSchemaRoot();
      while (batches.loadNextBatch()) {
        for (int i = 0; i < batch.getRowCount(); i++)
          say("\"id\":" + batch.getVector("id").getObject(i) + ",\"n\":" + batch.getVector("n").getObject(i));
      }
    }
  }

  private static void write(long next, String path) throws Exception {
    endWithInput();
    Handle[] handles = new Handle[3];
    for (;;) {
      int at = random.nextInt(handles.length);
      try {
        // As long as writer.py uses a handle, which says why.
        boolean isOld = handles[at] != null && System.nanoTime() - handles[at].opened > 20_000_000_000L;
        if (isOld || random.nextDouble() < 0.2) handles[at] = closed(handles[at]);
        if (handles[at] == null) handles[at] = open();
        change(handles[at], next++, path);
      } catch (Throwable error) {
        String message = String.valueOf(error.getMessage()).replaceAll("[^ -~]|[\"\\\\]", " ");
        say("\"end\":\"failed\",\"message\":\"" + message.substring(0, Math.min(300, message.length())) + "\"");
        handles[at] = closed(handles[at]);
        // The server may be starting again.
        Thread.sleep(50);
      }
    }
  }

  private static Handle open() {
    List<Long> rows = new ArrayList<>(there);
    return new Handle(opened(), rows, System.nanoTime());
  }

  private static Dataset opened() {
    return Dataset.open().allocator(memory).namespaceClient(namespace).tableId(table).build();
  }

  private static Handle closed(Handle handle) {
    if (handle != null) handle.dataset.close();
    return null;
  }

  private static void change(Handle handle, long next, String path) throws Exception {
    double chance = random.nextDouble();
    if (chance < 0.4) {
      say("\"op\":\"add\",\"id\":" + next);
      add(next, random.nextBoolean() ? path : null);
      there.add(next);
    } else if (chance < 0.7) {
      long id = 10 + random.nextInt(5);
      say("\"op\":\"upsert\",\"id\":" + id + ",\"n\":" + next);
      upsert(handle.dataset, id, next);
    } else {
      if (handle.rows.isEmpty()) return;
      Long id = handle.rows.remove(handle.rows.size() - 1);
      if (!there.remove(id)) return;
      say("\"op\":\"delete\",\"id\":" + id);
      handle.dataset.delete("id = " + id);
    }
    say("\"end\":\"done\"");
  }

  private static void add(long id, String path) throws Exception {
    try (ArrowStreamReader rows = rows(id, 0)) {
      var write = Dataset.write().allocator(memory).reader(rows).mode(WriteParams.WriteMode.APPEND);
      if (path == null) write.namespaceClient(namespace).tableId(table);
      else write.uri(path);
      write.execute().close();
    }
  }

  private static void upsert(Dataset dataset, long id, long n) throws Exception {
    var merge = new MergeInsertParams(List.of("id"))
        .withMatchedUpdateAll()
        .withNotMatched(MergeInsertParams.WhenNotMatched.InsertAll);
    try (ArrowStreamReader rows = rows(id, n); ArrowArrayStream stream = ArrowArrayStream.allocateNew(memory)) {
      Data.exportArrayStream(memory, rows, stream);
      dataset.mergeInsert(merge, stream).dataset().close();
    }
  }

  private static ArrowStreamReader rows(long id, long n) throws Exception {
    Schema schema = new Schema(List.of(column("id"), column("n")));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, memory);
        ArrowStreamWriter writer = new ArrowStreamWriter(root, null, bytes)) {
      root.allocateNew();
      ((BigIntVector) root.getVector("id")).setSafe(0, id);
      ((BigIntVector) root.getVector("n")).setSafe(0, n);
      root.setRowCount(1);
      writer.writeBatch();
    }
    return new ArrowStreamReader(new ByteArrayInputStream(bytes.toByteArray()), memory);
  }

  private static Field column(String name) {
    return new Field(name, FieldType.nullable(new ArrowType.Int(64, true)), null);
  }

  private static void say(String fields) {
    System.out.println("{" + fields + "}");
    System.out.flush();
  }

  private static void endWithInput() {
    Thread watcher = new Thread(() -> {
      try {
        while (System.in.read() >= 0) {}
      } catch (Exception error) {
        // It ends in either case.
      }
      Runtime.getRuntime().halt(0);
    });
    watcher.setDaemon(true);
    watcher.start();
  }
}
