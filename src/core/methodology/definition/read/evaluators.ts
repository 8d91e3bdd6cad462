import type { CheckType } from '../../../contract/values.js';
import { isObject } from '../../../events/plain-data.js';
import { parseWithSchema } from '../../../yaml/check-shape.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import type { CheckDefinition } from '../methodology.js';
import {
  CHECK_EXECUTION_FIELDS,
  CHECKS_MAX,
  type CheckDefaults,
  checkExecutionSchema,
  checkTypeOf,
  longText,
  onlyDeterministicText,
  parseCheck,
  requiredField,
  withoutEmptyFields,
} from './fields.js';
import { warnUnknownFields } from './unknown-fields.js';
import type { YamlFile } from './yaml-file.js';

const CHECK_NAME_LENGTH_MAX = 64;
/** How much of an unreadable check is quoted in the human check that replaces it. */
const EXCERPT_LENGTH_MAX = 500;
const EVALUATOR_FIELDS = [
  'type',
  'name',
  'command',
  'criterion',
  'pass_criterion',
  'checklist',
  'gate',
  'required',
  ...CHECK_EXECUTION_FIELDS,
];
const CHECKLIST_ENTRY_FIELDS = ['name', 'criterion', 'required', 'source'];

const text = longText.refine((value) => value.trim() !== '');
const isText = (value: unknown): value is string => text.safeParse(value).success;

type Fields = Readonly<Record<string, unknown>>;

interface EvaluatorsContext {
  readonly file: YamlFile;
  /** Canonical id, for the names of checks that have none. */
  readonly edge: string;
  readonly defaults: CheckDefaults;
  /** Names of checks that exist already. */
  readonly names: Set<string>;
}

/**
 * Reads the list `evaluators:` of an edge file into checks. The command of an evaluator becomes a deterministic check, each
 * entry of its checklist a check of its type, and its gate a human check. What cannot be read becomes a human check, with a
 * warning, so that no check is lost.
 */
export function parseEvaluators(value: unknown, context: EvaluatorsContext): CheckDefinition[] {
  if (value === undefined || value === null) return [];
  const path = ['evaluators'];
  if (!Array.isArray(value)) return [humanFallback(value, path, context)];
  const checks: CheckDefinition[] = [];
  for (const [index, evaluator] of value.entries()) {
    for (const check of evaluatorChecks(evaluator, [...path, index], context)) {
      checks.push(check);
      if (checks.length <= CHECKS_MAX) continue;
      context.file.fault(path, `expected at most ${CHECKS_MAX} checks`);
      return [];
    }
  }
  return checks;
}

function* evaluatorChecks(
  evaluator: unknown,
  path: DocumentPath,
  context: EvaluatorsContext,
): Generator<CheckDefinition> {
  const fields = isText(evaluator) ? { type: evaluator } : evaluator;
  if (!isObject(fields)) {
    yield humanFallback(evaluator, path, context);
    return;
  }
  warnUnknownFields(context.file, path, EVALUATOR_FIELDS, 'The evaluator is read without this field.');
  const reader = new EvaluatorReader(fields, path, context);
  yield* reader.readCommands();
  yield* reader.readChecklist();
  yield* reader.readGate();
  yield* reader.readTypeOnly();
}

/** Reads one evaluator: an entry of `evaluators:`. */
class EvaluatorReader {
  private readonly type: CheckType;
  private readonly executionFields: Partial<CheckDefinition>;

  constructor(
    private readonly evaluator: Fields,
    private readonly path: DocumentPath,
    private readonly context: EvaluatorsContext,
  ) {
    const inferredType = hasValue(evaluator, 'command')
      ? 'deterministic'
      : hasValue(evaluator, 'checklist')
        ? 'agent'
        : 'human';
    const type = typeof evaluator.type === 'string' ? checkTypeOf(evaluator.type) : undefined;
    if (type === undefined) {
      const message = `There is no evaluator ${JSON.stringify(evaluator.type ?? null)}; it is read as ${inferredType}. Known evaluators: deterministic, agent, human.`;
      context.file.warn([...path, 'type'], message);
    }
    this.type = type ?? inferredType;
    this.executionFields = withoutEmptyFields(
      parseWithSchema(checkExecutionSchema, evaluator, path, context.file) ?? {},
    );
    if (this.type === 'deterministic' || hasValue(evaluator, 'command')) return;
    for (const name of Object.keys(this.executionFields)) {
      context.file.warn([...path, name], onlyDeterministicText(name));
    }
  }

  *readCommands(): Generator<CheckDefinition> {
    if (!hasValue(this.evaluator, 'command')) return;
    const path = [...this.path, 'command'];
    if (this.type !== 'deterministic') this.warn(path, 'A command is read as a deterministic check.');
    for (const command of [this.evaluator.command].flat()) {
      if (!isText(command)) {
        yield humanFallback(command, path, this.context);
        continue;
      }
      const criterion = this.textOf('criterion') ?? `The command passes: ${command}`;
      const pass_criterion = this.textOf('pass_criterion');
      const fields = {
        command,
        ...(pass_criterion === null ? {} : { pass_criterion }),
        ...this.executionFields,
      };
      yield this.buildCheck('deterministic', this.textOf('name') ?? command, criterion, fields);
    }
  }

  *readChecklist(): Generator<CheckDefinition> {
    if (!hasValue(this.evaluator, 'checklist')) return;
    const path = [...this.path, 'checklist'];
    if (this.type === 'deterministic') {
      this.warn(path, 'A program cannot judge the entries of a checklist: they are read as agent checks.');
    }
    const type = this.type === 'deterministic' ? 'agent' : this.type;
    const entries: unknown[] = [this.evaluator.checklist].flat();
    for (const [index, entry] of entries.entries())
      yield this.readChecklistEntry(entry, type, [...path, index]);
  }

  *readGate(): Generator<CheckDefinition> {
    if (!hasValue(this.evaluator, 'gate')) return;
    const { gate } = this.evaluator;
    const path = [...this.path, 'gate'];
    if (this.type !== 'human') this.warn(path, 'A gate is read as a human check.');
    if (!isText(gate)) {
      yield humanFallback(gate, path, this.context);
      return;
    }
    const criterion = this.textOf('criterion') ?? `A person decides: ${gate.replaceAll('_', ' ')}`;
    yield this.buildCheck('human', this.textOf('name') ?? gate, criterion);
  }

  /** An evaluator with neither command, checklist nor gate. */
  *readTypeOnly(): Generator<CheckDefinition> {
    if (['command', 'checklist', 'gate'].some((name) => hasValue(this.evaluator, name))) return;
    const { edge } = this.context;
    const { type } = this;
    const criterion = this.textOf('criterion') ?? `The result of ${edge} is as it should be`;
    const command = `$tools.${edge}.command $tools.${edge}.args`;
    const fields = type === 'deterministic' ? { command, ...this.executionFields } : {};
    yield this.buildCheck(type, this.textOf('name') ?? `${edge}_${type}`, criterion, fields);
  }

  private readChecklistEntry(entry: unknown, type: CheckType, path: DocumentPath): CheckDefinition {
    if (isText(entry)) return this.buildCheck(type, entry, entry);
    const { name, criterion, required, source } = isObject(entry) ? entry : ({} as Fields);
    const criterionText = [criterion, name].find(isText);
    if (criterionText === undefined) return humanFallback(entry, path, this.context);
    warnUnknownFields(
      this.context.file,
      path,
      CHECKLIST_ENTRY_FIELDS,
      'The check is read without this field.',
    );
    const fields = isText(source) ? { source } : {};
    const checkName = isText(name) ? name : criterionText;
    const check = this.buildCheck(type, checkName, criterionText, fields);
    return required === undefined ? check : { ...check, required: this.readRequired(required, path) };
  }

  private buildCheck(
    type: CheckType,
    name: string,
    criterion: string,
    fields: Partial<CheckDefinition> = {},
  ): CheckDefinition {
    const { required } = this.evaluator;
    return parseCheck(
      {
        name: uniqueName(name, this.context),
        type,
        criterion,
        required: required === undefined ? undefined : this.readRequired(required, this.path),
        ...fields,
      },
      this.context.defaults,
    );
  }

  private readRequired(value: unknown, path: DocumentPath): boolean | string {
    const parsed = requiredField.safeParse(value);
    if (parsed.success) return parsed.data;
    this.warn([...path, 'required'], 'Expected true, false or a variable; the check is required.');
    return true;
  }

  private textOf(field: 'name' | 'criterion' | 'pass_criterion'): string | null {
    const value = this.evaluator[field];
    if (isText(value)) return value;
    if (value !== undefined) this.warn([...this.path, field], 'Expected a text; the field is ignored.');
    return null;
  }

  private warn(path: DocumentPath, message: string): void {
    this.context.file.warn(path, message);
  }
}

/** Whether a field has a value. An empty list counts as none. */
function hasValue(fields: Fields, field: string): boolean {
  const value = fields[field] ?? null;
  return value !== null && !(Array.isArray(value) && value.length === 0);
}

/** The human check that replaces a value that cannot be read as a check. */
function humanFallback(value: unknown, path: DocumentPath, context: EvaluatorsContext): CheckDefinition {
  const excerpt = JSON.stringify(value ?? null).slice(0, EXCERPT_LENGTH_MAX);
  context.file.warn(path, `${excerpt} cannot be read as a check: a person has to check it.`);
  return {
    name: uniqueName(`${context.edge}_human`, context),
    type: 'human',
    criterion: `A person checks what the file ${context.file.name} asks for: ${excerpt}`,
    required: true,
    source: 'default',
  };
}

/** A name made from a text: `ADRs reference X` → `adrs_reference_x`. It is unique, because reports are matched by name. */
function uniqueName(source: string, { edge, names }: EvaluatorsContext): string {
  const slug = source
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .slice(0, CHECK_NAME_LENGTH_MAX)
    .replace(/^_+|_+$/g, '');
  const base = slug === '' ? `${edge}_check` : slug;
  let name = base;
  for (let count = 2; names.has(name); count += 1) name = `${base}_${count}`;
  names.add(name);
  return name;
}
