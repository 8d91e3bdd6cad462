import { readSqlFile } from '../sql-file.js';

/** The statements of the store, by name; most need the namespace. */
export const sql = readSqlFile(new URL('./queries.sql', import.meta.url));
