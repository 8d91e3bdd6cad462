import { z } from 'zod';
import { WORK_KINDS, type WorkKind } from '../../core/contract/values.js';
import { FORBIDDEN_KEYS } from '../../core/events/plain-data.js';
import { TRACK_PATTERN } from '../../core/plan/task-id.js';
import { checkJsonShape, parseWithSchema, type ShapeFaultSink } from '../../core/yaml/check-shape.js';
import { readYamlText } from '../../core/yaml/read-yaml.js';
import type { DocumentPath, LocatePath, SourcePosition } from '../../core/yaml/source-position.js';

/** Agents that run the same program on the same kind of work. */
export interface AgentGroup {
  readonly name: string;
  readonly command: readonly string[];
  readonly count: number;
  /** Empty: all tracks. */
  readonly tracks: readonly string[];
  /** Null: tasks and edges of features. */
  readonly kind: WorkKind | null;
  /** Null: the agents name no role. */
  readonly agent_role: string | null;
  readonly environment: Readonly<Record<string, string>>;
}

type FleetFileResult =
  | { readonly ok: true; readonly groups: readonly AgentGroup[] }
  /** One `FILE:LINE:COLUMN: message` per fault. */
  | { readonly ok: false; readonly faults: readonly string[] };

export const FLEET_AGENTS_MAX = 100;
export const FLEET_FILE_BYTES_MAX = 256 * 1024;
const FAULTS_MAX = 100;

/** The names that groups may have. They become parts of file names, branches and session ids. */
export const GROUP_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/;
const VARIABLE_PATTERN = /^(?!GENESIS_)[A-Za-z_][A-Za-z0-9_]{0,127}$/;

const argument = z.string().max(100_000);
const groupSchema = z.strictObject({
  name: z.string().regex(GROUP_NAME_PATTERN),
  command: z.union([argument.min(1), z.array(argument).min(1).max(1000)]),
  count: z.int().min(1).max(FLEET_AGENTS_MAX).default(1),
  tracks: z.array(z.string().regex(TRACK_PATTERN)).min(1).max(100).optional(),
  kind: z.enum(WORK_KINDS).optional(),
  role: z.string().min(1).max(64).optional(),
  environment: z
    .record(z.string().regex(VARIABLE_PATTERN), z.union([z.string().max(100_000), z.number(), z.boolean()]))
    .optional(),
});
const fleetSchema = z.strictObject({ agents: z.array(groupSchema).min(1).max(FLEET_AGENTS_MAX) });
const EXPECTED_VALUES: Readonly<Record<string, string>> = {
  agents: 'a list with at least one group of agents',
  name: 'letters, digits, _ and -, at most 60',
  command: 'a shell command as text, or a list of the program and its arguments',
  count: `a whole number from 1 to ${FLEET_AGENTS_MAX}`,
  tracks: 'a list of tracks of the plan, such as [A, B]',
  kind: `${WORK_KINDS.join(' or ')}; tracks have tasks only`,
  role: 'text of at most 64 characters',
  environment: 'a map of variables to text, none of which starts with GENESIS_',
};

/** Reads the text of a fleet file. `file` is its name in the faults. */
export function readFleetFile(file: string, text: string): FleetFileResult {
  const { value, faults: yamlFaults, locate } = readYamlText(text, 'one');
  const faults = new FleetFaults(file, locate);
  for (const { path, message, source_position } of yamlFaults) faults.report(path, message, source_position);
  if (value === undefined || !checkJsonShape(value, [], faults)) return faults.toResult();
  const parsed = parseWithSchema(fleetSchema, value ?? {}, [], faults);
  if (parsed === null) return faults.toResult();
  checkAgents(parsed.agents, faults);
  if (!faults.isEmpty) return faults.toResult();
  return { ok: true, groups: parsed.agents.map(toGroup) };
}

type GroupInput = z.output<typeof groupSchema>;

function toGroup(input: GroupInput): AgentGroup {
  const { name, command, count, tracks = [], kind = null, role, environment = {} } = input;
  const variables = Object.entries(environment).map(([variable, value]) => [variable, String(value)]);
  return {
    name,
    command: typeof command === 'string' ? ['sh', '-c', command] : command,
    count,
    tracks,
    kind,
    agent_role: role ?? null,
    environment: Object.fromEntries(variables),
  };
}

/** Checks that go beyond the schema of one group: edges with tracks, duplicate names, and too many agents in total. */
function checkAgents(groups: readonly GroupInput[], faults: FleetFaults): void {
  const names = new Set<string>();
  for (const [index, { name, kind, tracks }] of groups.entries()) {
    if (kind === 'edge' && tracks !== undefined)
      faults.report(['agents', index, 'kind'], 'Tracks have tasks only: remove kind or tracks.');
    if (names.has(name)) faults.report(['agents', index, 'name'], `The name ${name} is used twice.`);
    names.add(name);
  }
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total > FLEET_AGENTS_MAX)
    faults.report(['agents'], `The file has ${total} agents; at most ${FLEET_AGENTS_MAX} run together.`);
}

/** Collects faults with their positions in the file, up to a limit. */
class FleetFaults implements ShapeFaultSink {
  readonly documentName = 'The file';
  readonly forbiddenNames = FORBIDDEN_KEYS;
  private readonly faults: (SourcePosition & { readonly message: string })[] = [];

  constructor(
    private readonly file: string,
    private readonly locate: LocatePath,
  ) {}

  add(code: 'BAD_VALUE' | 'UNKNOWN_FIELD', path: DocumentPath, message: string): void {
    // Omits the message of the validator: the expected value says more.
    const plain = message
      .replace(/ is not valid: .*$/s, ' is not valid.')
      .replace('; check its spelling', '');
    this.report(path, `${plain} Expected ${expectedAt(code, path)}.`);
  }

  report(path: DocumentPath, message: string, sourcePosition?: SourcePosition): void {
    if (this.faults.length >= FAULTS_MAX) return;
    this.faults.push({ ...(sourcePosition ?? this.locate(path) ?? { line: 1, column: 1 }), message });
  }

  get isEmpty(): boolean {
    return this.faults.length === 0;
  }

  /** The result, with the faults in the order of the text. */
  toResult(): FleetFileResult {
    const sorted = [...this.faults].sort((a, b) => a.line - b.line || a.column - b.column);
    const faults = sorted.map(({ line, column, message }) => `${this.file}:${line}:${column}: ${message}`);
    return { ok: false, faults };
  }
}

/** The fields that are allowed beside the field at the path. */
function fieldsAt(path: DocumentPath): string[] {
  const { agents: _, ...groupFields } = EXPECTED_VALUES;
  return path.length > 1 ? Object.keys(groupFields) : ['agents'];
}

function expectedAt(code: string, path: DocumentPath): string {
  const { agents, ...groupFields } = EXPECTED_VALUES;
  if (code === 'UNKNOWN_FIELD') return `${path.length > 1 ? 'one of ' : ''}${fieldsAt(path).join(', ')}`;
  const field = path.filter((step) => typeof step === 'string').at(path.includes('environment') ? 1 : -1);
  if (path.length === 2) return `a map with ${Object.keys(groupFields).join(', ')}`;
  return EXPECTED_VALUES[field ?? 'agents'] ?? String(agents);
}
