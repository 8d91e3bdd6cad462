import { z } from 'zod';
import type { SourceFault, SourceText } from './source-files.js';

const STATUSES = ['built', 'partly', 'planned', 'dropped'] as const;

const requirementSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Z]{3}-\d{3}$/),
    seed: z.string().regex(/^00[0-4]$/),
    section: z.string().min(1),
    statement: z.string().min(1),
    status: z.enum(STATUSES),
    note: z.string().min(1).exactOptional(),
    /** The command that measures the requirement, if a test would depend on the speed of the machine. */
    measured_by: z
      .string()
      .regex(/^npm run bench\S* /)
      .exactOptional(),
  })
  .refine(({ status, note }) => status === 'built' || note !== undefined, {
    path: ['note'],
    message: 'must say why, unless the status is built',
  });

type Requirement = z.infer<typeof requirementSchema>;

interface RequirementsCheck {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly SourceFault[];
  /** Built, in part or in whole, and neither cited by a test nor measured by a benchmark. */
  readonly uncited: readonly Requirement[];
}

/** Compares the requirements, one JSON object per line, with their citations: `// req: CLK-001, LSE-002` above a test. */
export function checkRequirements(manifest: SourceText, sources: readonly SourceText[]): RequirementsCheck {
  const { requirements, faults } = readManifest(manifest);
  const ids = new Set(requirements.map(({ id }) => id));
  const cited = new Set<string>();
  for (const source of sources) {
    for (const { id, line, isAboveTest } of citationsIn(source)) {
      const report = (message: string): void => void faults.push({ file: source.file, line, message });
      if (!ids.has(id)) report(`${id} is not a requirement of ${manifest.file}`);
      if (!isAboveTest) report(`the citation of ${id} is not directly above a test`);
      cited.add(id);
    }
  }
  const uncited = requirements.filter(
    ({ id, status, measured_by }) =>
      (status === 'built' || status === 'partly') && !cited.has(id) && measured_by === undefined,
  );
  return { requirements, faults, uncited };
}

/** One line with the counts, and, if there are uncited requirements, one with their ids. */
export function summaryOf({ requirements, uncited }: RequirementsCheck): string {
  const counts = STATUSES.map(
    (status) => `${requirements.filter((requirement) => requirement.status === status).length} ${status}`,
  );
  const lines = [`${requirements.length} requirements: ${counts.join(', ')}.`];
  if (uncited.length > 0)
    lines.push(
      `${uncited.length} built or partly built without a citing test: ${uncited.map(({ id }) => id).join(' ')}`,
    );
  return lines.join('\n');
}

function readManifest({ file, text }: SourceText): { requirements: Requirement[]; faults: SourceFault[] } {
  const requirements: Requirement[] = [];
  const faults: SourceFault[] = [];
  const lines = text.trimEnd().split('\n');
  const lineById = new Map<string, number>();
  for (const [at, content] of lines.entries()) {
    const line = at + 1;
    const parsed = requirementSchema.safeParse(jsonOf(content));
    if (!parsed.success) {
      const { path, message } = parsed.error.issues[0]!;
      faults.push({ file, line, message: `${path.join('.') || 'the line'}: ${message}` });
      continue;
    }
    const { id } = parsed.data;
    const firstLine = lineById.get(id);
    if (firstLine !== undefined)
      faults.push({ file, line, message: `${id} is already in line ${firstLine}` });
    lineById.set(id, firstLine ?? line);
    requirements.push(parsed.data);
  }
  return { requirements, faults };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function* citationsIn({ text }: SourceText): Generator<{ id: string; line: number; isAboveTest: boolean }> {
  if (!text.includes('// req:')) return;
  const lines = text.split('\n');
  for (const [at, content] of lines.entries()) {
    const list = /^\s*\/\/ req:(.*)$/.exec(content)?.[1];
    if (list === undefined) continue;
    const isAboveTest = /^\s*(?:it|test|describe\w*)[.(]/.test(lines[at + 1] ?? '');
    for (const id of list.split(',')) yield { id: id.trim(), line: at + 1, isAboveTest };
  }
}
