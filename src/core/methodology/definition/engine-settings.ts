import { z } from 'zod';
import type { ReplyOf } from '../../contract/schema.js';

/** How candidates are constructed and judged. From `engine.yml`; an edge file may override the fields in `edgeEngineFields`. */

const text = z.string().min(1).max(4096);
const seconds = z
  .int()
  .positive()
  .max(24 * 3600);
const argv = z.array(text).min(1).max(100);
/** A model of `bedrock`, `anthropic`, or a server with the OpenAI protocol. API keys are read from the environment only. */
const modelSettings = z.strictObject({
  provider: z.enum(['bedrock', 'anthropic', 'openai-compatible']),
  model: text,
  /** Only for `openai-compatible`, and for tests. */
  base_url: z.url().exactOptional(),
  region: text.exactOptional(),
  max_output_tokens: z.int().positive().max(1_000_000).exactOptional(),
  /** In US dollars per million tokens. Absent: the cost in money is unknown. */
  usd_per_million_input_tokens: z.number().min(0).exactOptional(),
  usd_per_million_output_tokens: z.number().min(0).exactOptional(),
});

/** How a candidate is made. */
const construct = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('command'), command: argv, timeout_seconds: seconds.exactOptional() }),
  z.strictObject({
    type: z.literal('model'),
    ...modelSettings.shape,
    timeout_seconds: seconds.exactOptional(),
  }),
  /** A recorded transcript, for tests: one entry per iteration. */
  z.strictObject({ type: z.literal('replay'), transcript: text }),
]);

/** How agent checks are judged. Absent: agent checks stay pending until a person or an agent reports them. */
const evaluate = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('model'),
    ...modelSettings.shape,
    timeout_seconds: seconds.exactOptional(),
  }),
  z.strictObject({ type: z.literal('command'), command: argv, timeout_seconds: seconds.exactOptional() }),
  z.strictObject({ type: z.literal('replay'), transcript: text }),
]);

/** What may be spent. A run that has reached a limit constructs no further candidate. Absent: unlimited. */
const spendLimit = z.strictObject({
  tokens: z.int().positive().exactOptional(),
  usd: z.number().positive().exactOptional(),
  seconds: z.int().positive().exactOptional(),
});
export const budgetSchema = z.strictObject({
  run: spendLimit.exactOptional(),
  feature: spendLimit.exactOptional(),
  project: spendLimit.exactOptional(),
  tenant: spendLimit.exactOptional(),
});

const context = z.strictObject({
  /** If the documents of the context exceed this size together, they are searched instead of being passed on whole. */
  rag_threshold_bytes: z
    .int()
    .positive()
    .max(16 * 1024 * 1024)
    .exactOptional(),
  /** Maximum size of a prompt, in estimated tokens. */
  prompt_tokens_max: z.int().positive().max(2_000_000).exactOptional(),
});

const DAYS_MAX = 366;
const review = z.strictObject({
  /** How long a person has for the decision. */
  deadline_days: z.number().positive().max(DAYS_MAX).exactOptional(),
  /** After how many days without a decision a reminder is sent. */
  remind_after_days: z.array(z.number().positive().max(DAYS_MAX)).max(10).exactOptional(),
  /** Receives the notices of each review, signed: the request, the reminders, the deadline. */
  webhook_url: z.url().exactOptional(),
});

export const edgeEngineFields = {
  construct: construct.exactOptional(),
  evaluate: evaluate.exactOptional(),
  budget: budgetSchema.exactOptional(),
};
export const engineSettingsSchema = z.strictObject({
  ...edgeEngineFields,
  context: context.exactOptional(),
  review: review.exactOptional(),
});

export type ModelSettings = ReplyOf<typeof modelSettings>;
export type ConstructSettings = ReplyOf<typeof construct>;
export type EvaluateSettings = ReplyOf<typeof evaluate>;
export type SpendLimit = ReplyOf<typeof spendLimit>;
export type Budget = ReplyOf<typeof budgetSchema>;
export type EngineSettings = ReplyOf<typeof engineSettingsSchema>;

/** The formats of test and coverage reports that a check can read. */
export const REPORT_FORMATS = [
  'junit',
  'tap',
  'pytest',
  'vitest',
  'jest',
  'go',
  'cargo',
  'lcov',
  'cobertura',
] as const;
/** How a deterministic check is run. */
export const checkExecutionFields = {
  /** Whether a shell reads the command. Otherwise the command is split into words and run without a shell. */
  shell: z.boolean().exactOptional(),
  timeout_seconds: seconds.exactOptional(),
  /** The report file that the command writes. `minimum_percent` is for coverage: a number or a variable. */
  report: z
    .strictObject({
      format: z.enum(REPORT_FORMATS),
      path: text,
      minimum_percent: z.union([z.number().min(0).max(100), text]).exactOptional(),
    })
    .exactOptional(),
};
