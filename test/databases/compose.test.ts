import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runGen, startCommand } from '../../src/cli/testing/terminal.js';
import { databaseOf } from '../../src/stores/databases.js';
import {
  DATABASE_NAMES,
  type DatabaseName,
  onSharedDatabase,
} from '../../src/stores/testing/shared-database.js';
import { temporaryFolder } from '../support/temporary-folder.js';

interface Service {
  readonly image?: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly healthcheck?: object;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}
type Services = Readonly<Record<string, Service>>;

/** Environment variables that a coordinator in a compose file may set. */
const ALLOWED_VARIABLES = ['GENESIS_STORE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];

/** Parses the file as docker compose does when no variable is set. */
async function servicesOf(name: DatabaseName): Promise<Services> {
  const file = await readFile(`deploy/compose/${name}.yml`, 'utf8');
  const withDefaults = file.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
  return parse(withDefaults, { merge: true }).services;
}

/** The credentials and the name of the database in the compose file. */
function accessOf({ environment = {}, command = [] }: Service) {
  const variableEndingIn = (end: string) =>
    Object.entries(environment).find(([key]) => key.endsWith(end))?.[1] ?? '';
  const required = command.indexOf('--requirepass');
  return {
    username: variableEndingIn('_USER'),
    password: required === -1 ? variableEndingIn('_PASSWORD') : command[required + 1],
    database: variableEndingIn('_DB') || variableEndingIn('_DATABASE'),
  };
}

for (const name of DATABASE_NAMES) {
  describe(`deploy/compose/${name}.yml`, () => {
    test('declares its services and credentials, and publishes ports on loopback only', async () => {
      const services = await servicesOf(name);
      const { [name]: databaseService, ...coordinators } = services as Services &
        Record<DatabaseName, Service>;
      const store = new URL(coordinators.migrate?.environment?.GENESIS_STORE ?? '');
      expect(await databaseOf(store.href)).not.toBeNull();
      if (name === 'dynamodb') {
        expect(new URL(store.searchParams.get('endpoint') ?? '').host).toBe('dynamodb:8000');
      } else {
        const { username, password, pathname } = store;
        expect(store.hostname).toBe(name);
        expect({ username, password, database: pathname.slice(1) }).toEqual(accessOf(databaseService));
      }
      expect(Object.keys(coordinators).sort()).toEqual(['key', 'migrate', 'one', 'two']);
      expect(databaseService.ports).toBeUndefined();
      expect(databaseService.healthcheck).toBeDefined();
      for (const { environment, ports = [], depends_on = {} } of Object.values(coordinators)) {
        expect(ALLOWED_VARIABLES).toEqual(expect.arrayContaining(Object.keys(environment ?? {})));
        for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:468[01]:4680$/);
        for (const [on, { condition }] of Object.entries(depends_on)) {
          expect(condition).toBe(on === name ? 'service_healthy' : 'service_completed_successfully');
        }
      }
    });
  });

  await onSharedDatabase(name, ({ url }) => {
    test(`the commands of deploy/compose/${name}.yml start coordinators that require a key`, async () => {
      const services = await servicesOf(name);
      const storeUrl = replaceService(services, url, name);
      const run = (service: string) =>
        [
          { cwd, env: { GENESIS_STORE: storeUrl } },
          ...(services[service]?.command ?? []).map((word) => (word.includes('://') ? storeUrl : word)),
        ] as const;
      const cwd = await temporaryFolder();
      expect(await runGen(...run('migrate'))).toMatchObject({ code: 0 });
      expect(await runGen(...run('one'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('Create a key first'),
      });
      expect((await runGen(...run('key'))).out).toMatch(/^\S+\n$/);
      // On loopback a coordinator also starts without a key, so the test checks that it reports that keys are required.
      const up = startCommand({ cwd, env: { GENESIS_STORE: storeUrl } }, 'up', '--port', '0');
      await up.waitForOutput('Authentication: clients need a key or a token.');
      up.stop('SIGTERM');
      expect(await up.ended).toMatchObject({ code: 0 });
    });
  });
}

/** The store URL of the file, pointed at an unused namespace in the database of this test. */
function replaceService(services: Services, url: string, name: DatabaseName): string {
  const [fileUrl, testUrl] = [new URL(services.migrate?.environment?.GENESIS_STORE ?? ''), new URL(url)];
  const namespace = `c${randomUUID().slice(0, 8)}`;
  testUrl.search = name === 'dynamodb' ? testUrl.search : fileUrl.search;
  if (name === 'mysql' || name === 'dynamodb') testUrl.pathname = `/${namespace}`;
  else testUrl.searchParams.set('namespace', namespace);
  return testUrl.href;
}
