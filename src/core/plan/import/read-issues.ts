import { z } from 'zod';
import { readStrictJson } from '../../strict-json.js';
import { type ParsedYaml, readYamlText } from '../../yaml/read-yaml.js';
import { PLAN_TEXT_LENGTH_MAX } from '../plan-document.js';
import { PlanFaultList } from '../plan-faults.js';
import { isTaskId, TRACK_PATTERN } from '../task-id.js';
import { referencesInProse } from './references.js';
import type { Reference, SourceDocument, SourceItem, TrackGroup } from './source-item.js';

const ISSUES_MAX = 10_000;

const name = z.union([z.string().min(1).max(200), z.number().int().min(0)]).transform(String);
const references = z.array(name).max(1000).optional();
/** Unknown fields are ignored, because each tracker has its own. */
const issueSchema = z.object({
  key: name.optional(),
  number: name.optional(),
  id: name.optional(),
  title: z.string().trim().min(1).max(2000),
  body: z.string().nullish(),
  depends_on: references,
  blocked_by: references,
  dependsOn: references,
  labels: z
    .array(z.union([z.string(), z.object({ name: z.string() }).transform((label) => label.name)]))
    .max(100)
    .optional(),
  priority: z.number().int().min(-1000).max(1000).nullish(),
  state: z.string().nullish(),
});
const issuesSchema = z.union([
  z.array(z.unknown()).max(ISSUES_MAX),
  z.object({ issues: z.array(z.unknown()).max(ISSUES_MAX) }).transform(({ issues }) => issues),
]);

/** Reads a JSON list of issues, as `gh issue list --json number,title,body,labels,state` prints it. */
export function readIssues(json: string): SourceDocument {
  if (json.length > PLAN_TEXT_LENGTH_MAX)
    return documentWithFault(`The file has over ${PLAN_TEXT_LENGTH_MAX} characters. Import it in parts.`);
  const parsed = readStrictJson(json);
  if ('fault' in parsed) return documentWithFault(`The file is not a JSON list of issues: ${parsed.fault}.`);
  const list = issuesSchema.safeParse(parsed.value);
  if (!list.success)
    return documentWithFault(
      `Expected a list of at most ${ISSUES_MAX} issues, or an object with such a list under issues.`,
    );
  // Only faults need line numbers. To find them, the first fault parses the text a second time, as YAML.
  let yamlDocument: ParsedYaml | null = null;
  const faults = new PlanFaultList((path) => {
    yamlDocument ??= readYamlText(Array.isArray(parsed.value) ? `{"issues": ${json}}` : json, 'one');
    const line = yamlDocument.locate(['issues', ...path])?.line;
    return line === undefined ? null : { line, column: 1 };
  });
  const items: SourceItem[] = [];
  const idsSeen = new Set<string>();
  for (const [index, value] of list.data.entries()) {
    const issue = issueSchema.safeParse(value);
    if (!issue.success) {
      for (const { path, message } of issue.error.issues)
        faults.add('BAD_VALUE', [index, ...path.map(String)], `${path.join('.') || 'issue'}: ${message}`);
      continue;
    }
    const item = sourceItem(issue.data, index);
    if (idsSeen.has(item.original_id))
      faults.add(
        'DUPLICATE_ID',
        [index],
        `The id ${JSON.stringify(item.original_id)} occurs twice. Give each issue its own id.`,
      );
    idsSeen.add(item.original_id);
    items.push(item);
  }
  return { items, is_ordered: false, faults };
}

function documentWithFault(message: string): SourceDocument {
  const faults = new PlanFaultList();
  faults.add('BAD_VALUE', [], message, { line: 1, column: 1 });
  return { items: [], is_ordered: false, faults };
}

function sourceItem(issue: z.output<typeof issueSchema>, index: number): SourceItem {
  const { title, body, priority, state } = issue;
  // The id of GitHub's JSON is an internal name; people know the number.
  const original_id = issue.key ?? issue.number ?? issue.id ?? title;
  return {
    original_id,
    task_id: isTaskId(original_id) ? original_id : null,
    title: title.replace(/\s+/g, ' '),
    instructions: body?.trim() ? body.trim() : null,
    group: groupOf(issue.labels ?? []),
    references: referencesOf(issue),
    subtasks: [],
    priority: priority ?? null,
    is_done: /^(closed|done|resolved|completed)$/i.test(state ?? ''),
    path: [index],
  };
}

/** A label such as `track:B` selects the track; other issues are in track A. */
function groupOf(labels: readonly string[]): TrackGroup {
  const selected = labels
    .map((label) => /^track: ?(\w{1,8})$/i.exec(label)?.[1]?.toUpperCase() ?? '')
    .find((track) => TRACK_PATTERN.test(track));
  return { name: selected ?? '', track: selected ?? 'A' };
}

function referencesOf(issue: z.output<typeof issueSchema>): Reference[] {
  const ids = [issue.depends_on, issue.blocked_by, issue.dependsOn].flatMap((list) => list ?? []);
  const required = ids.map((text) => ({ text, is_required: true }));
  return [...required, ...referencesInProse(issue.body ?? '')];
}
