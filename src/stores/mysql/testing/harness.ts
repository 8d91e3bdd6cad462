import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { ProjectKey } from '../../store.js';
import { type MysqlStore, openMysqlStore } from '../mysql-store.js';
import type { MysqlOptions } from '../options.js';
import { queryServer } from '../testing.js';

export const newProject = (project_id = 'p'): ProjectKey => ({ tenant_id: `t-${randomUUID()}`, project_id });
export const newNamespace = (): string => `m_${randomUUID().replaceAll('-', '_')}`;

/**
 * A test server: `open` opens a store that is closed when the test ends, and `admin` runs a statement without a store.
 */
export const harnessOf = (options: MysqlOptions) => ({
  open: async (withOptions: MysqlOptions = options): Promise<MysqlStore> => {
    const store = await openMysqlStore(withOptions);
    onTestFinished(() => store.close());
    return store;
  },
  admin: (sql: string, values?: readonly unknown[]) => queryServer(options, sql, values && [...values]),
});
