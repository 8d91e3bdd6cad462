import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKey } from '../../core/contract/keys.js';
import { isModuleUrl } from '../../stores/custom/module-store.js';
import { STORE_FILE } from '../../stores/file/layout.js';
import type { DatabaseFeatureStep, Migrator } from '../../stores/migrator.js';
import type { Workspace } from '../../workspace/workspace.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { bindKeys } from '../migrate/bind-keys.js';
import {
  assertHasFeatures,
  featuresText,
  OPTION_NAMES,
  requestedOptions,
  tablesByFeature,
} from '../migrate/database-options.js';
import type { OptionsOf } from '../option-table.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { defaultStore, folderOfStore, workspaceOfStoreUrl } from '../store.js';

const MIGRATE_OPTIONS = {
  '--store <url>': 'store URL (default: GENESIS_STORE, or the local store)',
  '--status': 'only list the pending steps; exit code 1 if there are any',
  '--dry-run': 'only print the statements that would run',
  '--point-in-time-recovery': 'DynamoDB: also switch on point-in-time recovery of all tables',
  '--streams': 'DynamoDB: also switch on the stream of the table of events',
} as const;
type MigrateOptions = OptionsOf<typeof MIGRATE_OPTIONS>;

/** The steps that one store needs, or that the migration has applied. */
interface StoreMigrationReport {
  readonly store: string;
  readonly found: number;
  readonly wanted: number;
  readonly steps: readonly { readonly version: number; readonly name: string }[];
  /** Features of the database that the options request. */
  readonly features: readonly DatabaseFeatureStep[];
  /** Keys created before keys were bound to their store. */
  readonly keys: readonly ApiKey[];
  /** Lines missing from the workspace's `.gitignore`. */
  readonly ignores: readonly string[];
}

const EMPTY_REPORT = { found: 0, wanted: 0, steps: [], features: [], keys: [], ignores: [] };

export const migrateCommand = defineCommand('migrate', {
  description:
    'migrate a store to this version: the schema of a database, the format of a log, the keys, the .gitignore of a workspace',
  options: MIGRATE_OPTIONS,
  help: '\nSeveral processes may migrate at once: each step runs once. In a log only store.json changes; the lines stay as they are.\nKeys created before keys were bound to their store are bound, except in a workspace, whose log may come from elsewhere:\ncreate new keys there (gen key create). In a workspace the missing lines are added to .gitignore. With\nroutes:./tenants.yml every store named in the file is migrated, and the store of each tenant in --tenant (ids\nseparated by commas).\nWhat --point-in-time-recovery and --streams switch on costs money on AWS, and gen migrate never switches it off.\n\nExamples:\n  gen migrate --store postgres://fleet@localhost/fleet\n  gen migrate --status\n  gen migrate --dry-run > migration.sql',
  async run(context, options) {
    const reports: StoreMigrationReport[] = [];
    for (const url of await expandStoreUrl(context, options.store ?? defaultStore(context.io)))
      reports.push(await migrateStore(context, url, options));
    if (options.dryRun) return;
    context.printReply({ stores: reports }, () => reports.flatMap((each) => reportLines(each, options)));
    if (options.status && !reports.every(isDone)) context.exit_code = EXIT.refused;
  },
});

async function migrateStore(
  context: CommandContext,
  url: string,
  options: MigrateOptions,
): Promise<StoreMigrationReport> {
  const { withoutPassword } = await import('../../server/store-url.js');
  const store = withoutPassword(url);
  const workspace = workspaceOfStoreUrl(context.io, url);
  if (workspace !== null) {
    const migrator = await migratorOfFolder(workspace.events);
    await assertHasFeatures(store, migrator, options);
    const format = await migrateSchema(context, store, migrator, options);
    const ignores = await migrateWorkspace(context, store, workspace, options);
    return { ...EMPTY_REPORT, store, ...format, ignores };
  }
  const migrator = await migratorOf(context, url);
  await assertHasFeatures(store, migrator, options);
  const schema = migrator === null ? EMPTY_REPORT : await migrateSchema(context, store, migrator, options);
  // A schema that does not exist yet has no keys, and a schema with pending steps cannot be read.
  const isReady = hasStore(context, url) && (isWriting(options) || schema.steps.length === 0);
  const keys = isReady ? await bindKeys(context, url, !isWriting(options)) : [];
  if (options.dryRun && keys.length > 0) {
    context.printReply({ store, keys }, () => keys.map((key) => `-- bind the key ${keyText(key)}`));
  }
  return { store, ...EMPTY_REPORT, ...schema, keys };
}

/** Whether there may be keys to read. Opening a store that does not exist yet would create it; a database is taken to exist. */
function hasStore({ io }: CommandContext, url: string): boolean {
  const folder = folderOfStore(io, url);
  return folder === null ? url !== 'memory:' : existsSync(join(folder, STORE_FILE));
}

const isWriting = ({ status, dryRun }: MigrateOptions): boolean => !status && !dryRun;
const isDone = ({ steps, features, keys, ignores }: StoreMigrationReport): boolean =>
  steps.length + features.length + keys.length + ignores.length === 0;

async function migrateSchema(
  context: CommandContext,
  store: string,
  migrator: Migrator,
  options: MigrateOptions,
): Promise<Pick<StoreMigrationReport, 'found' | 'wanted' | 'steps' | 'features'>> {
  const requested = requestedOptions(options);
  try {
    if (!isWriting(options)) {
      const steps = await migrator.pending();
      const features = (await migrator.features?.pending(requested)) ?? [];
      if (options.status) return { ...(await migrator.status()), steps, features };
      const texts = [statementsText(steps), featuresText(features)].filter((text) => text !== '');
      context.printReply(
        { store, steps, features },
        () => texts.join('\n\n') || `-- ${store}: nothing to do`,
      );
      return { ...EMPTY_REPORT, steps, features };
    }
    const statusBefore = await migrator.status();
    const spinner = startProgress(context.io, 'migrating');
    try {
      const steps = await migrator.up();
      return { ...statusBefore, steps, features: (await migrator.features?.enable(requested)) ?? [] };
    } finally {
      spinner.stop();
    }
  } finally {
    await migrator.close();
  }
}

const statementsText = (steps: Awaited<ReturnType<Migrator['pending']>>): string =>
  steps
    .map(({ version, name, statements }) => `-- ${version} ${name}\n${statements.join(';\n')};`)
    .join('\n\n');

/**
 * Adds the missing `.gitignore` lines. The keys of a workspace stay unbound because they may have come with the
 * repository.
 */
async function migrateWorkspace(
  context: CommandContext,
  store: string,
  workspace: Workspace,
  options: MigrateOptions,
): Promise<StoreMigrationReport['ignores']> {
  const { addMissingIgnores, missingIgnores } = await import('../../workspace/git-ignore.js');
  if (isWriting(options)) return addMissingIgnores(workspace);
  const ignores = missingIgnores(workspace);
  if (options.dryRun && ignores.length > 0) {
    context.printReply({ store, ignores }, () => ignores.map((line) => `-- add to .gitignore: ${line}`));
  }
  return ignores;
}

async function expandStoreUrl({ tenant }: CommandContext, url: string): Promise<string[]> {
  const { isRoutesUrl, readRoutesUrl } = await import('../../server/store-url.js');
  if (!isRoutesUrl(url)) return [url];
  const { defaultUrl, tenantIds, urlOf } = await readRoutesUrl(url);
  return [...new Set([defaultUrl, ...[...tenantIds, ...tenant.split(',')].map(urlOf)])];
}

async function migratorOf({ io }: CommandContext, url: string): Promise<Migrator | null> {
  const { databaseOf } = await import('../../stores/databases.js');
  const database = await databaseOf(url);
  if (database !== null) return database.migrator(url);
  // A store that is a module of its own decides the format of its storage.
  if (url === 'memory:' || isModuleUrl(url)) return null;
  const folder = folderOfStore(io, url);
  if (folder !== null) return migratorOfFolder(folder);
  throw new CommandFailure(
    'This store URL is not supported. Pass --store postgres://…, mysql://…, redis://…, dynamodb://…, file:./folder or workspace:./project.',
  );
}

async function migratorOfFolder(folder: string): Promise<Migrator> {
  const { fileMigrator } = await import('../../stores/file/migrator.js');
  return fileMigrator(folder);
}

function reportLines(report: StoreMigrationReport, { status }: MigrateOptions): string[] {
  const { store, found, wanted, steps, features, keys, ignores } = report;
  if (isDone(report)) return [`${store}: ${wanted === 0 ? '' : `at version ${wanted}, `}nothing to do.`];
  const lines: string[] = [];
  if (steps.length > 0) {
    const stateText = status
      ? `at version ${found} of ${wanted}. Pending (run gen migrate):`
      : `${countText(steps.length, 'step')} applied, now at version ${wanted}.`;
    lines.push(`${store}: ${stateText}`, ...steps.map(({ version, name }) => `  ${version} ${name}`));
  }
  // Lists every key by name: anyone who could write to the store before keys were bound may have added one.
  if (keys.length > 0) {
    const stateText = status ? 'not yet bound to this store (run gen migrate)' : 'bound to this store';
    lines.push(
      `${store}: ${countText(keys.length, 'key')} ${stateText}. Revoke any that you do not recognize (gen key revoke):`,
      ...keys.map((key) => `  ${keyText(key)}`),
    );
  }
  for (const [feature, tables] of tablesByFeature(features)) {
    const stateText = status ? 'is not on (run gen migrate with its option)' : 'is on';
    lines.push(`${store}: ${OPTION_NAMES[feature]} of ${tables.join(', ')} ${stateText}.`);
  }
  if (ignores.length > 0) {
    const stateText = status ? 'Missing in .gitignore (run gen migrate)' : 'Added to .gitignore';
    lines.push(`${store}: ${stateText}: ${ignores.join(', ')}`);
  }
  return lines;
}

function keyText({ key_id, role, tenant_id, label, created_at, created_by }: ApiKey): string {
  const name = `${key_id} ${role} of ${tenant_id ?? 'the platform'}${label === null ? '' : ` (${label})`}`;
  return singleLine(`${name}, created ${created_at} by ${created_by}`);
}
