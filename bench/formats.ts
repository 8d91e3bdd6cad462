import { sendRequest } from './formats/send-request.js';
import { startMeasuredServer } from './formats/server.js';
import * as texts from './formats/texts.js';
import { integerText, table } from './table.js';

const PROJECTS_PATH = '/api/tenants/default/projects';
const MIB = 1024 * 1024;
const PLAN_MAX_BYTES = 5 * MIB;
const COMMAND_MAX_BYTES = MIB;

interface FormatCase {
  readonly name: string;
  readonly method: 'PUT' | 'POST';
  readonly path: string;
  readonly contentType: string;
  readonly body: () => string;
}

const jsonCase = (
  name: string,
  path: string,
  body: () => string,
  method: FormatCase['method'] = 'POST',
): FormatCase => ({
  name,
  method,
  path,
  contentType: 'application/json',
  body,
});
const yamlPlanCase = (name: string, project: string, body: () => string): FormatCase => ({
  name,
  method: 'PUT',
  path: `${PROJECTS_PATH}/${project}/plan`,
  contentType: 'application/yaml',
  body,
});

const jsonItems = (count: number, item: (at: number) => object): string =>
  JSON.stringify({ items: Array.from({ length: count }, (_, index) => item(index)) });
const handle = { task_id: 'A-001-x', session_id: 's', claim_id: 'c' };

/** The formats that the server reads, at their size limits, and hostile input, which it refuses. The status is shown. */
const FORMATS: readonly FormatCase[] = [
  yamlPlanCase('plan, YAML, 5 MiB', 'yaml', () => texts.planYaml(PLAN_MAX_BYTES)),
  jsonCase('plan, JSON, 5 MiB', `${PROJECTS_PATH}/json/plan`, () => texts.planJson(PLAN_MAX_BYTES), 'PUT'),
  yamlPlanCase('plan, YAML, a million subtasks in 6 KB', 'million', texts.millionSubtasks),
  yamlPlanCase('plan, YAML, 0.39 MB of unknown fields', 'bad', () => texts.unknownFields(390_000)),
  yamlPlanCase('plan, YAML, 4.5 MB of unknown fields', 'bad', () => texts.unknownFields(4_500_000)),
  yamlPlanCase('plan, YAML, 5 MiB of commas', 'bad', () => texts.badCommas(PLAN_MAX_BYTES - 100)),
  jsonCase('tasks added, JSON, 1 MiB', `${PROJECTS_PATH}/added/tasks`, () =>
    texts.addedTasks(COMMAND_MAX_BYTES),
  ),
  jsonCase('events imported, JSON, 1 MiB', `${PROJECTS_PATH}/imported/events/import`, () =>
    texts.importedEvents(COMMAND_MAX_BYTES),
  ),
  jsonCase('workspace, 16 files of 256 KiB', '/api/init', () =>
    JSON.stringify({ project_id: 'large', files: texts.workspaceFiles(4 * MIB, 256 * 1024) }),
  ),
  jsonCase('workspace, 2,000 files of 2 KiB', '/api/init', () =>
    JSON.stringify({ project_id: 'many', files: texts.workspaceFiles(4 * MIB, 2 * 1024) }),
  ),
  jsonCase('result, JSON, 1 MiB', `${PROJECTS_PATH}/added/results`, () =>
    JSON.stringify({
      ...handle,
      generation: 1,
      result_data: Array.from({ length: 60_000 }, (_, index) => ({ at: index })),
    }),
  ),
  jsonCase('1,000 claims', `${PROJECTS_PATH}/added/claims/batch`, () =>
    JSON.stringify({
      claims: Array.from({ length: 1000 }, (_, index) => ({
        task_id: `AAA-${String((index % 999) + 1).padStart(3, '0')}-work`,
        agent_id: 'a',
        session_id: `s${index}`,
      })),
    }),
  ),
  jsonCase('1,000 renewals', `${PROJECTS_PATH}/added/claims/renew/batch`, () =>
    jsonItems(1000, () => ({ ...handle, expected_generation: 1 })),
  ),
  jsonCase('1,000 results', `${PROJECTS_PATH}/added/results/batch`, () =>
    jsonItems(1000, () => ({ ...handle, generation: 1, result_data: 'x'.repeat(900) })),
  ),
  jsonCase('gaps, 5,000 keys', '/api/gaps', () =>
    JSON.stringify({ project_id: 'large', layers_run: [1, 2, 3], agent_id: 'a', keys: texts.gapKeys(5000) }),
  ),
  jsonCase('MCP, a message of 1 MiB', '/mcp/default/added', () =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'submit',
        arguments: {
          handle: { ...handle, generation: 1 },
          result_data: 'x'.repeat(COMMAND_MAX_BYTES - 1000),
        },
      },
    }),
  ),
  jsonCase(
    'JSON, 1 MiB of one name twice',
    `${PROJECTS_PATH}/added/claims`,
    () => `{${'"a":1,'.repeat(170_000)}"a":1}`,
  ),
];

/**
 * `npm run bench -- --only formats`: how long it takes to read each format at its size limit, and how long the server
 * answers no other request meanwhile. The server runs in its own process.
 */
export async function benchFormats(): Promise<void> {
  const rows: string[][] = [];
  const server = await startMeasuredServer();
  try {
    await send(
      server.url,
      jsonCase('warm', `${PROJECTS_PATH}/warm/plan`, () => texts.planJson(20_000), 'PUT'),
      texts.planJson(20_000),
    );
    for (const format of FORMATS) {
      const body = format.body();
      const { result, wall_ms, blocked_ms } = await server.measure(() => send(server.url, format, body));
      const next = await server.measure(() => requestWork(server.url));
      rows.push([
        format.name,
        integerText(body.length / 1024),
        integerText(wall_ms),
        integerText(blocked_ms),
        integerText(next.blocked_ms),
        result,
      ]);
      process.stderr.write(
        `  ${format.name}: ${integerText(wall_ms)} ms, blocked ${integerText(blocked_ms)} ms, ${result}\n`,
      );
    }
  } finally {
    await server.stop();
  }
  console.log(
    '\nFormats at their size limit: milliseconds until the reply, and longest time that the event loop was blocked\n',
  );
  console.log(table(['format', 'KiB', 'answer', 'blocked', 'blocked by next', 'status'], rows));
}

async function send(url: string, { method, path, contentType }: FormatCase, body: string): Promise<string> {
  const headers = {
    'content-type': contentType,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  };
  const { status, text } = await sendRequest(url + path, { method, headers, body });
  const code = /"(?:code|reason)":"(\w+)"/.exec(text.slice(0, 2000))?.[1];
  return `${status}${code === undefined ? '' : ` ${code}`}`;
}

/** Requests work in each project whose plan the formats change. Shows whether such a later request waits for an earlier one. */
async function requestWork(url: string): Promise<void> {
  for (const project of ['yaml', 'json', 'million', 'added']) {
    const body = JSON.stringify({ agent_id: 'a', session_id: `s-${project}` });
    const headers = { 'content-type': 'application/json' };
    await sendRequest(`${url}${PROJECTS_PATH}/${project}/next`, { method: 'POST', headers, body });
  }
}
