//! Lexicon of the languages of a market: words that name no product, words that exclude what they precede, and words
//! that mean the same.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

use super::{
    synonyms::{LONGEST_NAME, Synonyms},
    text::Analysis,
};

/// Words that queries have and that say nothing about products, by language: those of grammar, then those of asking.
const STOP_WORDS: &[(&str, &str)] = &[
    (
        "en",
        "a about all also am an and any are as at be been best better but by can could did do does doing for from get \
      gets go good got great had has have having he her here him his how i if in into is it its just know like made make \
      makes making may me might most more much must my need needs nice no not of on one or our ours out own please really \
      recommend she should show so some someone something somebody such than that the their them then there these they \
      thing things this those to too us use used using very via want wants was way we were what when where which while \
      who whose why will with would you your yours \
      buy enough find give help lets looking love sell searching shop shopping suggest take thank thanks \
      anyone anything during else ever every for's next own per please through until up upon",
    ),
    (
        "de",
        "aber alle als also am an andere auch auf aus bei beim bin bis bist bitte da damit dann das dass dein dem den der \
      des dich die dir doch du durch ein eine einem einen einer eines er es etwas euch fur gegen gern gerne gibt gut gute \
      guten guter hab habe haben habt hat hatte hier ich ihm ihn ihr ihre ihren im in ist ja jede jeden kann kannst konnen \
      man mein meine meinem meinen meiner mich mir mit mochte nach nicht noch nur oder ob schon sehr sein seine sich sie \
      sind so soll sollte suche suchen und uns unser unter vom von vor war was welche welchen welcher welches wenn wer wie \
      wir wird wo zu zum zur brauche brauchen kaufen finden gesucht zeig zeige hatte gerne trage tragen kein keine",
    ),
    (
        "fr",
        "a ai as au aux avec avez avoir avons c ce ceci cela ces cet cette chez comme d dans de des du elle en entre es \
      est et etre eu faire fait faut il ils j je l la le les leur leurs lui m ma mais me meme mes moi mon n ne nos notre \
      nous on ont ou par pas peu peut plus pour pourrais qu quand que quel quelle quelles quels quelque quelqu qui s sa se \
      ses si son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une veux voudrais vos votre vous \
      y cherche chercher acheter bon bonne bons bonnes besoin trouver donner recommandez chose avoir s'il plait",
    ),
    (
        "es",
        "a al algo alguna algun algunos ante asi aunque bien busco buscar buena bueno buen cada como con cual cuales \
      cuando de del desde donde e el ella ellos en entre era es esa ese eso esta estan este esto estos fue ha hace hacer \
      hay la las le les lo los mas me mi mis muy necesito ni nos nosotros o os otra otro para pero por porque puede puedo \
      que quien quiero quisiera se ser si sobre son su sus tambien te tengo tiene tienen tu tus u un una unas uno unos \
      usar ya yo y comprar encontrar regalar recomienda mejor mejores",
    ),
    (
        "it",
        "a ad agli ai al alla alle anche avere c che chi ci come con cosa cui da dal dalla dalle degli dei del della delle \
      dello di dove e ed gli ha hai hanno ho i il in io l la le lei lo loro lui ma mi mia mie miei mio molto ne nei nel \
      nella nelle noi non o per perche piu qualcosa quale quali quando quello questa queste questo se sei si sia sono sta \
      su sua sue sul sulla suo suoi tra tu tua tuo un una uno vi vorrei cerco cercare comprare bisogno ottimo buono buona",
    ),
    (
        "nl",
        "aan al alle als ben bij dat de den der deze die dit doen door dus een en er goed goede had heb hebben heeft het \
      hier hij hoe iets ik in is je jij kan kunnen maar me meer met mij mijn moet na naar niet nog nu of om onder ons ook \
      op over te tot uit van veel voor waar was wat we wel welke wie wij wil worden zal ze zich zij zijn zo zou zoek \
      kopen nodig graag zoeken vinden",
    ),
    (
        "pt",
        "a ao aos as com como da das de dela dele deles do dos e ela ele eles em entre era essa esse esta este eu foi ha \
      isso isto ja lhe lhes mais mas me meu meus minha muito na nas nem no nos nossa nosso num numa o os ou para pela pelo \
      por porque qual quando que quem se sem ser seu seus sua suas so tambem te tem tenho um uma umas uns voce voces \
      procuro quero preciso comprar algo bom boa melhor",
    ),
    (
        "sv",
        "alla att av de dem den det detta dig din ditt du efter eller en ett for fran ha han har hos hur i inte jag kan \
      man med men mig min mitt mot mycket nagot nar och om pa sa sig sin som till upp ut vad var vi vill vilka vilken vid \
      ar soker kopa behover bra",
    ),
    (
        "da",
        "af alle at blev da de dem den der det dette dig din du efter eller en er et for fra ham han har hos hun hvad \
      hvilke hvor i ikke jeg kan man med meget men mig min mit mod noget nar og om op os pa sig sin som til ud under var \
      ved vi vil soger kobe brug gode",
    ),
    (
        "no",
        "alle at av da de dem den der det dette din du eller en er et etter for fra ha han har hos hun hva hvilke hvor i \
      ikke jeg kan man med meg men min mitt mot mye noe nar og om opp oss pa seg sin som til ut var ved vi vil soker kjope \
      trenger gode",
    ),
    (
        "fi",
        "ei en etta han he hyva ja jos joka jotka kanssa kuin kun me mika minun mina mitka mutta myos ne niin nyt olen on \
      ovat se sen sina tai tama te vain voi etsin haluan tarvitsen",
    ),
    (
        "pl",
        "a ale bo byc co czy dla do i ich jak jaki jakie jako jest juz ma mam mi na nie o od oraz po przez sa sie ta tak \
      ten to tym w we z za ze szukam chce",
    ),
    (
        "ru",
        "а без бы в вам вас во вот все вы где да для до его ее если есть и из или им их к как какие какой ко купить ли мне \
      мы на над не нет но ну о об он она они от по под при с со так то ты у уже хочу что чтобы эта это этот я ищу нужен",
    ),
    (
        "tr",
        "acaba ama bana bir biz bu cok da daha de en gibi hem icin ile ise istiyorum ki kim mi ne nerede o olan sen su \
      ve veya ya ariyorum lazim",
    ),
    ("ja", "の を に は が で と へ も や から まで ため"),
    ("zh", "的 了 在 是 和 与 给 我 你 想 要 买"),
    ("ko", "은 는 이 가 을 를 의 에 와 과 용"),
];

/// Words that exclude what follows.
const WITHOUT: &[(&str, &[&str])] = &[
    ("en", &["without", "no", "non", "minus"]),
    ("de", &["ohne", "kein", "keine"]),
    ("fr", &["sans"]),
    ("es", &["sin"]),
    ("it", &["senza"]),
    ("nl", &["zonder", "geen"]),
    ("pt", &["sem"]),
    ("sv", &["utan"]),
    ("da", &["uden"]),
    ("no", &["uten"]),
    ("nb", &["uten"]),
];

/// Endings of words that say that what is in front of them is not in it.
pub(super) const FREE: &[&str] = &["free", "less", "frei", "freie", "los", "vrij", "loos", "fri", "fritt"];

/// Words that say the same beside the word.
pub(super) const FREE_WORDS: &[&str] =
    &["free", "without", "frei", "ohne", "sans", "sin", "senza", "libre", "zonder", "sem", "utan", "uden", "uten"];

/// Names that mean the same in everyday language.
static BUILT_IN: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::readable(include_str!("synonyms.txt")).0);

/// Another name of what a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Synonym {
    pub(super) words: Vec<String>,
    /// Factor on the score of a product that has it.
    pub(super) factor: f32,
}

/// Factors of a form of the same word, of another word that the operator has stated, and of one that is built in.
const SAME: f32 = 1.0;
const STATED: f32 = 0.7;
const SYNONYM: f32 = 0.45;

/// Maximum number of other names that a name has.
const MOST_SYNONYMS: usize = 32;

/// Maximum number of earlier lexicons that are kept for callers who are paging.
const KEPT: usize = 2;

/// Lexicon of the languages of a market.
pub(super) struct Lexicon {
    /// Number that differs where the synonyms do that the operator has stated; 0 if there are none.
    pub(super) id: u64,
    stop_words: HashSet<&'static str>,
    without: HashSet<&'static str>,
    /// By the stems of the name.
    synonyms: HashMap<String, Vec<Synonym>>,
    /// Every word that is known to be spelled correctly.
    words: HashSet<String>,
}

impl Lexicon {
    /// Creates the lexicon of the languages of a market, with the synonyms that its operator has stated.
    pub(super) fn new(analysis: &Analysis, stated: &[Arc<Synonyms>]) -> Self {
        let mut lexicon = Self {
            id: id(stated),
            stop_words: HashSet::new(),
            without: HashSet::new(),
            synonyms: HashMap::new(),
            words: HashSet::new(),
        };
        for synonyms in stated {
            lexicon.take(analysis, synonyms, None, STATED);
        }
        for tag in analysis.tags() {
            let own: &str = if matches!(&*tag, "nb" | "nn") { "no" } else { &tag };
            let stop_words = STOP_WORDS.iter().filter(|(language, _)| *language == own);
            lexicon.stop_words.extend(stop_words.flat_map(|(_, words)| words.split_whitespace()));
            let without = WITHOUT.iter().filter(|(language, _)| *language == own);
            lexicon.without.extend(without.flat_map(|(_, words)| words.iter().copied()));
            for synonyms in stated {
                lexicon.take(analysis, synonyms, Some(own), STATED);
            }
            lexicon.take(analysis, &BUILT_IN, Some(own), SYNONYM);
        }
        lexicon
    }

    /// Takes the rules of a language, or those of all languages. Other names count `factor`.
    fn take(&mut self, analysis: &Analysis, synonyms: &Synonyms, tag: Option<&str>, factor: f32) {
        for rule in synonyms.rules().iter().filter(|rule| rule.language.as_deref() == tag) {
            let factor = if rule.is_form { SAME } else { factor };
            rule.from.iter().for_each(|from| self.add(analysis, from, &rule.to, factor));
        }
    }

    fn add(&mut self, analysis: &Analysis, from: &[String], to: &[Vec<String>], factor: f32) {
        if from.is_empty() || from.len() > LONGEST_NAME {
            return;
        }
        self.words.extend(from.iter().cloned());
        self.words.extend(to.iter().flatten().cloned());
        let others = to.iter().filter(|to| *to != from && !to.is_empty());
        let known = self.synonyms.entry(key(analysis, from)).or_default();
        for words in others {
            if known.len() < MOST_SYNONYMS && !known.iter().any(|own| own.words == *words) {
                known.push(Synonym { words: words.clone(), factor });
            }
        }
    }

    /// Returns `true` if a folded word is left out of queries that have others.
    pub(super) fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word)
            || word.chars().count() == 2 && !word.is_ascii() && word.chars().any(|letter| self.is_particle(letter))
    }

    /// Returns `true` if a character of a script without spaces is a word of grammar.
    fn is_particle(&self, letter: char) -> bool {
        ('\u{3040}'..='\u{309f}').contains(&letter) && self.stop_words.contains(&*letter.to_string())
    }

    /// Returns `true` if a word excludes what follows.
    pub(super) fn excludes(&self, word: &str) -> bool {
        self.without.contains(word)
    }

    /// Returns `true` if a word is spelled correctly for all that is known.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.words.contains(word) || self.stop_words.contains(word)
    }

    /// The other names of a name, by its [key].
    pub(super) fn synonyms(&self, key: &str) -> &[Synonym] {
        self.synonyms.get(key).map_or(&[], Vec::as_slice)
    }
}

/// A name as it is looked up: the stems of its words, with spaces between them.
pub(super) fn key(analysis: &Analysis, name: &[String]) -> String {
    let stem = |word: &String| analysis.query_stems(word).into_iter().next().unwrap_or_default();
    name.iter().map(stem).collect::<Vec<_>>().join(" ")
}

/// Returns the number of synonyms: the first bits of a digest, so that it is the same after a restart.
fn id(stated: &[Arc<Synonyms>]) -> u64 {
    use sha2::Digest as _;
    if stated.iter().all(|synonyms| synonyms.rules().is_empty()) {
        return 0;
    }
    let mut digest = sha2::Sha256::new();
    for synonyms in stated {
        digest.update(synonyms.text().len().to_be_bytes());
        digest.update(synonyms.text());
    }
    digest.finalize().iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}

/// The lexicon of an index, with earlier ones for callers who are paging.
pub(super) struct Lexicons(RwLock<Kept>);

struct Kept {
    newest: Arc<Lexicon>,
    earlier: Vec<Arc<Lexicon>>,
}

impl fmt::Debug for Lexicons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lexicons").field("newest", &self.newest().id).finish()
    }
}

impl Lexicons {
    pub(super) fn new(newest: Lexicon) -> Self {
        Self(RwLock::new(Kept { newest: Arc::new(newest), earlier: Vec::new() }))
    }

    pub(super) fn newest(&self) -> Arc<Lexicon> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).newest)
    }

    /// Returns the lexicon of a number; `None` if it is not kept.
    pub(super) fn of(&self, id: u64) -> Option<Arc<Lexicon>> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&kept.newest).chain(&kept.earlier).find(|lexicon| lexicon.id == id).map(Arc::clone)
    }

    pub(super) fn replace(&self, newest: Lexicon) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.newest.id == newest.id {
            return;
        }
        kept.earlier.retain(|lexicon| lexicon.id != newest.id);
        let before = std::mem::replace(&mut kept.newest, Arc::new(newest));
        kept.earlier.insert(0, before);
        kept.earlier.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_are_built_in_can_all_be_used() {
        let (_, faults) = Synonyms::readable(include_str!("synonyms.txt"));
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn lexicons_have_a_number_and_the_last_ones_are_kept() {
        let market = serde_json::from_str(r#"{"name":"x","currency":"USD","language":"en"}"#).expect("a market");
        let analysis = Analysis::new(&market);
        let lexicon = |text: &str| Lexicon::new(&analysis, &[Arc::new(Synonyms::read(text).expect("reads"))]);
        let ids: Vec<u64> = ["# nothing", "a, b", "a, c", "a, d"].map(|text| lexicon(text).id).into();
        assert!(ids[0] == 0 && ids[1..].iter().all(|id| *id != 0) && ids[1] != ids[2]);
        assert_eq!(lexicon("a, b").id, ids[1], "the same after a restart");
        let kept = Lexicons::new(lexicon(""));
        for text in ["a, b", "a, c", "a, c", "a, d"] {
            kept.replace(lexicon(text));
        }
        let is_kept: Vec<bool> = ids.iter().map(|id| kept.of(*id).is_some()).collect();
        assert_eq!((is_kept, kept.newest().id), (vec![false, true, true, true], ids[3]));
    }
}
