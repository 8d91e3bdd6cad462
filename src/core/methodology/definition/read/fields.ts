import { z } from 'zod';
import { CHECK_TYPES, type CheckType, EXPIRY_ACTIONS } from '../../../contract/values.js';
import { ownValue } from '../../../own-value.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import { checkExecutionFields } from '../engine-settings.js';
import type { CheckDefinition } from '../methodology.js';
import { isVariable } from '../variables.js';
import type { YamlFile } from './yaml-file.js';

/** Field types of workspace files. Unknown fields are allowed; known fields have the right type or are empty. */
export const shortText = z.string().min(1).max(256);
export const longText = z.string().max(16 * 1024);
export const shortTexts = z.array(shortText).max(1000);
const checkType = z.enum(CHECK_TYPES);
export const checkTypes = z.array(checkType).max(10);
/** Names of evaluators in a file, in any spelling; `knownCheckTypes` resolves them to check types. */
export const evaluatorNames = z.array(shortText).max(10);
export const iterationCount = z.int().min(1).max(1000);

/** Check types by their names in other Genesis tools: functors that compute (F_D), judge (F_P) or ask a person (F_H). */
const CHECK_TYPE_BY_FUNCTOR: Readonly<Record<string, CheckType>> = {
  f_d: 'deterministic',
  f_p: 'agent',
  f_h: 'human',
};

/** The check type with this name, in any spelling; undefined if there is none. */
export function checkTypeOf(evaluatorName: string): CheckType | undefined {
  const name = evaluatorName.trim().toLowerCase();
  return CHECK_TYPES.find((type) => type === name) ?? ownValue(CHECK_TYPE_BY_FUNCTOR, name);
}

/** The check types that a list of evaluators names. Unknown types are left out, with a warning. */
export function knownCheckTypes(
  evaluatorNameList: readonly string[],
  file: YamlFile,
  path: DocumentPath,
): CheckType[] {
  const types = evaluatorNameList.map((evaluatorName, index) => {
    const type = checkTypeOf(evaluatorName);
    if (type === undefined) {
      const message = `There is no evaluator ${JSON.stringify(evaluatorName)}; known evaluators: ${CHECK_TYPES.join(', ')}. This name is left out.`;
      file.warn(path.at(-1) === 'evaluator' ? path : [...path, index], message);
    }
    return type;
  });
  return [...new Set(types.filter((type) => type !== undefined))];
}

/** A field with a value for files that omit it or leave it empty. */
export const orElse = <S extends z.ZodType, const Fallback>(schema: S, fallback: Fallback) =>
  schema.nullish().transform((value) => value ?? fallback);

/** A group of fields that a file may omit as a whole. */
export const optionalSection = <Shape extends z.core.$ZodShape>(shape: Shape) =>
  z.preprocess((value) => value ?? {}, z.object(shape));

/** A map with any values; empty if omitted. */
export const anyRecord = orElse(z.record(z.string().max(256), z.unknown()), {});
export const description = longText.nullish().transform((text) => text?.trim() ?? '');
export const optionalText = longText.nullish().transform(textOrNull);

/** The trimmed text; null if it is empty or a `{placeholder}`. */
export function textOrNull(text: string | null | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || /^\{[^{}]*\}$/.test(trimmed) ? null : trimmed;
}

const variable = z
  .string()
  .refine(isVariable, { error: 'expected true, false or a variable such as $tools.type_checker.required' });
export const requiredField = z.union([z.boolean(), variable]);

/** How the command of a check is run. */
export const checkExecutionSchema = z.object({
  shell: checkExecutionFields.shell.nullish(),
  timeout_seconds: checkExecutionFields.timeout_seconds.nullish(),
  report: checkExecutionFields.report
    .nullish()
    .refine((report) => isPercentOrVariable(report?.minimum_percent), {
      path: ['minimum_percent'],
      error: 'expected a number from 0 to 100 or a variable such as $thresholds.test_coverage_minimum',
    }),
});
export const CHECK_EXECUTION_FIELDS: readonly string[] = Object.keys(checkExecutionSchema.shape);
const isPercentOrVariable = (value: unknown): boolean => typeof value !== 'string' || isVariable(value);

const checkSchema = z.object({
  name: shortText,
  type: checkType,
  criterion: longText.nullish(),
  required: requiredField.nullish(),
  source: shortText.nullish(),
  command: longText.nullish(),
  pass_criterion: longText.nullish(),
  ...checkExecutionSchema.shape,
});
/** `functional_unit` is a field of other Genesis tools and has no effect here. */
export const CHECK_FIELDS: readonly string[] = [...Object.keys(checkSchema.shape), 'functional_unit'];
export const CHECKS_MAX = 500;
export const checksSchema = orElse(z.array(checkSchema).max(CHECKS_MAX), []);

/** Values of fields that a check omits, by its type. */
export type CheckDefaults = Readonly<
  Partial<Record<CheckType, Partial<Pick<CheckDefinition, 'required' | 'pass_criterion'>>>>
>;

export function parseCheck(
  parsed: z.infer<typeof checkSchema>,
  defaults: CheckDefaults = {},
  defaultSource = 'default',
): CheckDefinition {
  const { name, type, criterion, source, command, required } = parsed;
  const typeDefaults = defaults[type];
  const pass_criterion = parsed.pass_criterion ?? typeDefaults?.pass_criterion;
  return {
    name,
    type,
    required: required ?? typeDefaults?.required ?? true,
    criterion: criterion ?? name,
    source: source ?? defaultSource,
    ...(command?.trim() ? { command } : {}),
    ...(pass_criterion?.trim() ? { pass_criterion } : {}),
    ...(type === 'deterministic' ? executionFieldsOf(parsed) : {}),
  };
}

const executionFieldsOf = ({ shell, timeout_seconds, report }: z.infer<typeof checkExecutionSchema>) =>
  withoutEmptyFields({ shell, timeout_seconds, report });

export const onlyDeterministicText = (field: string): string =>
  `The field ${field} is ignored, because only deterministic checks have it.`;

/** Warns if a check that runs no program has fields that say how its program is run. */
export function warnAboutExecutionFields(
  { type, ...fields }: z.infer<typeof checkSchema>,
  file: YamlFile,
  path: DocumentPath,
): void {
  if (type === 'deterministic') return;
  for (const name of Object.keys(executionFieldsOf(fields))) {
    file.warn([...path, name], onlyDeterministicText(name));
  }
}

type WithoutEmpty<T> = { [Name in keyof T]?: NonNullable<T[Name]> };

/** The fields without the empty ones: a field that a file leaves empty counts as absent. */
export const withoutEmptyFields = <T extends object>(fields: T): WithoutEmpty<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as WithoutEmpty<T>;

export const timeBoxSchema = z
  .object({
    enabled: z.boolean().nullish(),
    duration: longText.nullish(),
    started: optionalText,
    check_in: longText.nullish(),
    on_expiry: orElse(z.enum(EXPIRY_ACTIONS), 'fold_back'),
  })
  .nullish();
