import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { startOwnMysql } from '../../src/stores/mysql/testing.js';
import { postgresOwner, startOwnPostgres } from '../../src/stores/postgres/testing.js';
import { startOwnRedis } from '../../src/stores/redis/testing.js';
import { requireDatabase } from '../../src/stores/testing/database.js';
import { onDatabase, onProgram } from '../../src/stores/testing/on-database.js';
import { findInstalledProgram } from '../../src/stores/testing/program.js';
import { freePort } from '../../src/stores/testing/server-process.js';

interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority that is not trusted by default, with certificates for servers of these names. */
class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), 'genesis-tls-'));
  readonly certificate = join(this.folder, 'ca.crt');

  constructor() {
    chmodSync(this.folder, 0o755);
    this.openssl(`req -x509 ${NEW_KEY} -keyout ca.key -out ca.crt -subj /CN=authority -days 2`);
  }

  certify(name: string): CertificateFiles {
    writeFileSync(join(this.folder, 'names'), `subjectAltName=DNS:${name}\n`);
    this.openssl(`req ${NEW_KEY} -keyout ${name}.key -out ${name}.csr -subj /CN=${name}`);
    const signed = '-CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names';
    this.openssl(`x509 -req -in ${name}.csr ${signed} -out ${name}.crt`);
    return { cert: join(this.folder, `${name}.crt`), key: join(this.folder, `${name}.key`) };
  }

  private openssl(line: string): void {
    execFileSync('openssl', line.split(' '), { cwd: this.folder, stdio: 'pipe' });
  }
}

const NEW_KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
interface CliExit {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `gen` in its own process, because Node reads its trusted authorities at startup. */
async function gen(cwd: string, env: Record<string, string>, ...argv: string[]): Promise<CliExit> {
  const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [join(inject('built'), 'dist/cli/main.js'), ...argv], {
    cwd,
    env: { ...inherited, ...env },
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, out, err };
}

/** Tests servers whose certificates match their names, and one whose certificate does not. */
function describeTls(
  name: string,
  { folder, certificate }: Authority,
  certified: readonly string[],
  other: string,
): void {
  const [url = ''] = certified;
  const trusting = { NODE_EXTRA_CA_CERTS: certificate };

  describe(`${name} over TLS`, () => {
    test('works if its certificate authority is trusted', async () => {
      for (const each of certified) {
        expect(await gen(folder, trusting, 'migrate', '--store', each)).toMatchObject({ code: 0 });
      }
      expect(await gen(folder, trusting, 'verify', url)).toMatchObject({ code: 0, err: '' });
    });

    test.each([
      ['an untrusted certificate authority', {}, url],
      ['the certificate of another server', trusting, other],
    ])('is refused with a one-line error for %s', async (_, env, store) => {
      for (const command of [['migrate'], ['up', '--port', '0']]) {
        const { code, out, err } = await gen(folder, env, ...command, '--store', store);
        expect([code, out]).toEqual([1, '']);
        expect(err).toMatch(/^[A-Z][^\n]*certificate[^\n]*\n$/);
        expect(err).toContain('NODE_EXTRA_CA_CERTS');
      }
    });
  });
}

const onPostgres = (authority: Authority, { cert, key }: CertificateFiles): Promise<void> =>
  onDatabase(
    'postgres',
    () => {
      const owner = postgresOwner() ?? statSync(key);
      chownSync(key, owner.uid, owner.gid);
      return startOwnPostgres({ settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`] });
    },
    (database) => {
      afterAll(() => database.stop());
      const modes = ['require', 'verify-full'].map((mode) => `${database.url}?sslmode=${mode}`);
      const certified = modes.map((url) => url.replace('127.0.0.1', 'localhost'));
      describeTls('postgres', authority, certified, modes[0] as string);
    },
  );

const startMysqlWith = ({ cert, key }: CertificateFiles) =>
  startOwnMysql([`--ssl-cert=${cert}`, `--ssl-key=${key}`]);

const onMysql = (authority: Authority, certified: CertificateFiles): Promise<void> =>
  onDatabase(
    'mysql',
    () => startMysqlWith(certified),
    async (database) => {
      const other = requireDatabase(await startMysqlWith(authority.certify('elsewhere')));
      afterAll(async () => {
        await database.stop();
        await other.stop();
      });
      const [right, wrong] = [database, other].map(
        ({ url }) => `${url.replace('127.0.0.1', 'localhost')}?tls=true`,
      ) as [string, string];
      describeTls('mysql', authority, [right], wrong);
    },
  );

async function onRedis(authority: Authority, { cert, key }: CertificateFiles): Promise<void> {
  const port = await freePort();
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority.certificate];
  const overTls = ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no'];
  await onDatabase(
    'redis',
    () => startOwnRedis(['--appendonly', 'yes', '--appendfsync', 'always', ...overTls]),
    (database) => {
      afterAll(() => database.stop());
      describeTls('redis', authority, [`rediss://localhost:${port}`], `rediss://127.0.0.1:${port}`);
    },
  );
}

const missing = findInstalledProgram('openssl') === null ? 'openssl is not installed' : null;
await onProgram('openssl', missing, async () => {
  const authority = new Authority();
  const certified = authority.certify('localhost');
  afterAll(() => rmSync(authority.folder, { recursive: true, force: true }));
  for (const onStore of [onPostgres, onMysql, onRedis]) await onStore(authority, certified);
});
