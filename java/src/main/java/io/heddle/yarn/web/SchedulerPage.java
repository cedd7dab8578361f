package io.heddle.yarn.web;

import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.queues.QueueSnapshot;
import io.heddle.yarn.queues.QueueView;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.StringJoiner;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.http.HtmlQuoting;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;

/**
 * The page at {@code /cluster/scheduler}: the tree of queues as one table. Static HTML without
 * script, well-formed XML as well, from one snapshot.
 */
final class SchedulerPage {
  /** Nothing but this page's own style is ever loaded, whatever a queue is called. */
  private static final String CONTENT_POLICY =
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'";

  private static final String STYLE = ":root{color-scheme:light dark;--ink:#1b1f24;"
      + "--paper:#fff;--line:#c8cdd3;--dim:#57606a;--link:#0550ae}"
      + "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--paper:#14171b;--line:#3b424b;"
      + "--dim:#a3abb5;--link:#80b8ff}}"
      + "*{box-sizing:border-box}body{margin:0;padding:1rem;font:1rem/1.4 system-ui,sans-serif;"
      + "color:var(--ink);background:var(--paper)}h1{font-size:1.4rem;margin:.5rem 0}"
      + "a{color:var(--link)}nav a{display:inline-block;padding:.4rem .8rem .4rem 0}"
      + ".scroll{overflow-x:auto}"
      + ":focus-visible{outline:3px solid var(--link);outline-offset:2px}"
      + "table{border-collapse:collapse;width:100%}caption{text-align:left;color:var(--dim);"
      + "padding-bottom:.4rem}th,td{padding:.4rem .6rem;border-bottom:1px solid var(--line);"
      + "text-align:right;vertical-align:top}td{white-space:nowrap}"
      + "th:first-child{text-align:left;overflow-wrap:anywhere;min-width:9rem}"
      + "tbody th{font-weight:600}.above{color:var(--dim);font-weight:400}"
      // A phone: each queue is a block, each figure a line with its name before it.
      + "@media(max-width:44rem){thead{position:absolute;width:1px;height:1px;overflow:hidden;"
      + "clip-path:inset(50%)}table,tbody,tr,th,td,caption{display:block}"
      + "tr{padding:.5rem 0;border-bottom:1px solid var(--line)}"
      + "th,td{border:0;padding:.1rem 0}td{display:flex;justify-content:space-between;gap:1rem;"
      + "white-space:normal}td::before{content:attr(data-name);color:var(--dim)}}";

  private static final String[] COLUMNS = {"Weight", "Min share", "Max share", "Fair share",
      "Used", "Running containers", "Pending containers"};

  private final StringBuilder html = new StringBuilder();

  private SchedulerPage() {}

  /** Answers a request for the page. */
  static void answer(QueueReports reports, HttpServletResponse response) throws IOException {
    QueueSnapshot snapshot = reports == null ? null : reports.snapshot();
    if (snapshot == null || snapshot.root() == null) {
      Replies.notYet(response);
      return;
    }
    response.setHeader("Content-Security-Policy", CONTENT_POLICY);
    Replies.send(response, HttpServletResponse.SC_OK, "text/html;charset=utf-8",
        new SchedulerPage().write(snapshot).getBytes(StandardCharsets.UTF_8));
  }

  private String write(QueueSnapshot snapshot) {
    html.append("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
        + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
        + "<title>Queues - Heddle</title><style>").append(STYLE).append("</style></head><body>\n"
        + "<nav aria-label=\"ResourceManager\"><a href=\"/cluster/cluster\">Cluster</a>"
        + "<a href=\"/cluster/apps\">Applications</a><a href=\"/cluster/nodes\">Nodes</a>"
        + "<a href=\"/heddle/\">Heddle console</a></nav>\n"
        + "<main><h1>Queues</h1>\n<p>Policy: ");
    for (String stage : new String[] {"share", "order", "place"}) {
      html.append(stage).append(" <b>").append(quote(snapshot.stage(stage))).append("</b>")
          .append(stage.equals("place") ? ". " : ", ");
    }
    html.append("Cluster: ").append(quote(amounts(snapshot.capacity()))).append(".</p>\n"
        + "<div class=\"scroll\" role=\"region\" aria-label=\"Queues\" tabindex=\"0\">"
        // Said once more: laid out as blocks, on a phone, a table is none to a screen reader.
        + "<table role=\"table\"><caption>Every queue is followed by those below it."
        + " Containers include ApplicationMasters.</caption>"
        + "<thead role=\"rowgroup\"><tr role=\"row\">"
        + "<th scope=\"col\" role=\"columnheader\">Queue</th>");
    for (String column : COLUMNS) {
      html.append("<th scope=\"col\" role=\"columnheader\">").append(column).append("</th>");
    }
    html.append("</tr></thead>\n<tbody role=\"rowgroup\">\n");
    rows(snapshot.root(), 0);
    html.append("</tbody></table></div>\n<p>The same for programs: <a href=\"")
        .append(HeddleFilter.INFO_PATH).append("\">").append(HeddleFilter.INFO_PATH)
        .append("</a></p></main></body></html>\n");
    return html.toString();
  }

  private void rows(QueueView queue, int depth) {
    int dot = queue.path.lastIndexOf('.') + 1;
    html.append("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\" style=\"padding-left:")
        // Deep trees must leave room for the names.
        .append(Math.min(depth, 6)).append(".6rem\"><span class=\"above\">")
        .append(quote(queue.path.substring(0, dot))).append("</span>")
        .append(quote(queue.path.substring(dot))).append("</th>");
    cell(0, String.format(Locale.ROOT, "%.6f", queue.weight)
        .replaceFirst("\\.?0+$", ""));
    cell(1, amounts(queue.minShare));
    cell(2, amounts(queue.maxShare));
    cell(3, amounts(queue.fairShare));
    cell(4, amounts(queue.used));
    cell(5, String.valueOf(queue.runningContainers));
    cell(6, String.valueOf(queue.pendingContainers));
    html.append("</tr>\n");
    for (QueueView child : queue.children()) {
      rows(child, depth + 1);
    }
  }

  private void cell(int column, String text) {
    html.append("<td role=\"cell\" data-name=\"").append(COLUMNS[column]).append("\"><span>")
        .append(quote(text)).append("</span></td>");
  }

  /** Such as "8,192 MB, 8 vcores, 2 gpu"; types after the first two only where there is any. */
  private static String amounts(Resource resource) {
    StringJoiner all = new StringJoiner(", ");
    for (ResourceInformation type : resource.getResources()) {
      switch (type.getName()) {
        case ResourceInformation.MEMORY_URI:
          all.add(String.format(Locale.ROOT, "%,d MB", type.getValue()));
          break;
        case ResourceInformation.VCORES_URI:
          all.add(String.format(Locale.ROOT, "%,d vcores", type.getValue()));
          break;
        default:
          if (type.getValue() != 0) {
            all.add(String.format(Locale.ROOT, "%,d %s %s",
                type.getValue(), type.getUnits(), type.getName()));
          }
      }
    }
    return all.toString();
  }

  private static String quote(String text) {
    return HtmlQuoting.quoteHtmlChars(XmlDocument.allowed(text));
  }
}
