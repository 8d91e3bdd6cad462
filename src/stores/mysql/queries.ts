import { readSqlFile } from '../sql-file.js';

/** The statements of the store, by name. */
export const sql = readSqlFile(new URL('./queries.sql', import.meta.url));
