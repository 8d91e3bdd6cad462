import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { spentLimitText } from '../../core/engine/budget.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { Candidate } from '../../core/engine/run-data.js';
import { truncatedSays } from '../../core/engine/says.js';
import { engineError } from '../engine-error.js';
import { buildPrompt, type ConstructionPrompt, type PromptText } from '../prompts/build-prompt.js';
import type { StepCall } from '../runs/step-runner.js';
import { claimOf, edgePlanOf, type Findings, findingsToFix, manifestOf, requiredPart } from './run-state.js';
import type { EngineServices, RefreshedText } from './services.js';

/** Lets the constructor of the edge make a candidate, and stores the files that it has changed. */
export async function constructCandidate(services: EngineServices, call: StepCall): Promise<Candidate> {
  const { blobs, files } = services;
  const { data, signal, journal } = call;
  const plan = await edgePlanOf(blobs, data);
  await assertConfigUnchanged(services, plan, requiredPart(data, 'config').config_sha256);
  const spent = { run: journal.spent, ...(await services.spentSoFar(plan.feature_id)) };
  const overspent = spentLimitText(plan.budget, spent);
  if (overspent !== null) throw engineError('budgetSpent', overspent);
  const claim = claimOf(data);
  const lastManifest = data.candidate === undefined ? null : await manifestOf(blobs, data.candidate.manifest);
  const { folder, refreshed } = await files.prepare(claim, lastManifest);
  const texts = lastManifest === null ? [] : await files.texts(lastManifest);
  const prompt = buildPrompt(
    withRefreshed(await promptInput(services, call, plan, texts), refreshed),
    plan.settings.context?.prompt_tokens_max,
  );
  // The prompt is stored before it is used, so that it can also explain why a constructor has failed.
  await blobs.put(Buffer.from(prompt.text));
  const construct = await services.openConstructor(plan);
  const construction = await construct({ prompt: prompt.text, folder, iteration: data.iteration, signal });
  const manifest = await files.collect(claim);
  const text = canonicalJson(manifest);
  return {
    manifest: await blobs.put(Buffer.from(text)),
    sha256: sha256Hex(text),
    files: manifest.files.length,
    prompt_sha256: prompt.sha256,
    constructed_by: construction.constructed_by,
    says: truncatedSays(construction.says),
    cost: construction.cost,
  };
}

/** A run uses one configuration: checks that change during the run would judge something else. */
async function assertConfigUnchanged(
  services: EngineServices,
  plan: EdgePlan,
  configSha256: string,
): Promise<void> {
  const current = planDigest(await services.readPlan(plan.feature_id, plan.edge));
  if (current === configSha256) return;
  throw engineError(
    'configChanged',
    `The configuration of ${plan.edge} has changed since the run began. Start a new run: gen iterate ${plan.feature_id}#${plan.edge}`,
  );
}

export const planDigest = (plan: EdgePlan): string => sha256Hex(canonicalJson(plan));

async function promptInput(
  services: EngineServices,
  { data }: StepCall,
  plan: EdgePlan,
  files: readonly PromptText[],
): Promise<ConstructionPrompt> {
  const findings = await findingsToFix(services.blobs, data);
  const context = data.context === undefined ? null : await services.blobs.get(data.context.manifest);
  return {
    feature_id: plan.feature_id,
    edge: plan.edge,
    target: plan.target,
    iteration: data.iteration,
    guidance: plan.guidance,
    checks: plan.checks,
    findings: findingTexts(findings),
    review_comment: findings?.comment ?? null,
    files,
    context: context === null ? [] : await services.contextTexts(context, plan),
    earlier_attempts: await services.earlierAttemptTexts(`${plan.feature_id}#${plan.edge}`),
  };
}

/** A refreshed file is shown as it is now, so that the next draft includes the changes that others made to it. */
function withRefreshed(input: ConstructionPrompt, refreshed: readonly RefreshedText[]): ConstructionPrompt {
  const paths = new Set(refreshed.map(({ path }) => path));
  const currentFiles = refreshed.map(({ path, current: text }) => ({ name: path, text }));
  const previousDrafts = refreshed.map(({ path, previousDraft: text }) => ({
    name: `${path}: the draft before others changed this file in the project`,
    text,
  }));
  return {
    ...input,
    files: [...input.files.filter(({ name }) => !paths.has(name)), ...currentFiles],
    earlier_attempts: [...previousDrafts, ...input.earlier_attempts],
  };
}

const findingTexts = (findings: Findings | null): PromptText[] =>
  (findings?.outcomes ?? [])
    .filter(({ result }) => result !== 'pass')
    .map(({ name, result, says }) => ({ name, text: `${result}: ${says}` }));
