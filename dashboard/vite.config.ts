import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compress } from './compress.js';
import { notices } from './notices.js';

const LICENCES = 'licences.txt';
const COORDINATOR = 'http://127.0.0.1:4680';

/** The built files are assets of the server. File names carry a digest, so browsers may keep them for ever. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/assets/',
  plugins: [react(), notices(LICENCES), compress()],
  build: {
    outDir: '../src/server/page/assets',
    emptyOutDir: true,
    assetsDir: '.',
    // The page's policy forbids inline styles and scripts, and allows data: URLs only for images.
    assetsInlineLimit: 0,
    license: { fileName: LICENCES },
    modulePreload: { polyfill: false },
    target: 'es2022',
    // The page, and the API reference at /docs.
    rollupOptions: { input: ['index.html', 'docs.html'].map((name) => `${import.meta.dirname}/${name}`) },
    // The viewer of the reference is one large file.
    chunkSizeWarningLimit: 2000,
  },
  server: { host: '127.0.0.1', proxy: { '/api': COORDINATOR, '/openapi.json': COORDINATOR } },
});
