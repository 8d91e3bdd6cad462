import { build } from 'vite';

/** Builds the page into the server's assets. */
await build({ configFile: 'dashboard/vite.config.ts', logLevel: 'warn' });
