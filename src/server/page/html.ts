export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Genesis Fleet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header>
<h1>Genesis Fleet</h1>
<label id="which" hidden>Project <select id="project"></select></label>
<span id="link" role="status">connecting</span>
<nav><a href="/docs">HTTP API</a></nav>
</header>
<main>
<form id="door" hidden>
<label>Key <input id="token" type="password" autocomplete="off" required></label>
<button>Enter</button>
<p>This server asks who you are. The key stays in this tab.</p>
</form>
<section id="empty" hidden>
<h2 id="nothing">Nothing here yet</h2>
<p>Import a plan: <code>gen plan import plan.yaml</code>. To watch a fleet at work first: <code>gen demo --keep</code>.</p>
</section>
<div id="shown" hidden>
<p id="total"></p>
<section class="long"><table id="tracks"></table></section>
<section id="needed" hidden><h2>Waits for a human</h2><table id="waiting"></table></section>
<h2>Agents</h2>
<section class="long"><table id="agents"></table></section>
<section><h2>Events</h2><table id="events"></table></section>
</div>
<noscript>This page shows what goes on as it happens, for which it needs JavaScript.</noscript>
</main>
</body>
</html>
`;
